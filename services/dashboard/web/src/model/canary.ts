// The router that has its part of a change set first, while it is watched, and the counters that judge it.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { TelemetrySeries } from "../gen/millrace/flow/v1/flow_pb";
import { type ChangeSet, State } from "../gen/millrace/push/v1/push_pb";
import type { Tone } from "./changes";
import { type Share, share } from "./units";

export interface Canary {
  router: string;
  state: "next" | "watched" | "kept" | "stopped" | "unused";
  /** The push service's verdict, with the figure that decided. */
  verdict: string;
  /** Between which times its counters were read. */
  from?: Timestamp | undefined;
  until?: Timestamp | undefined;
}

/** The canary of a change set and what became of it. */
export function canaryOf(c: ChangeSet): Canary | undefined {
  if (!c.canary) return undefined;
  const at = c.history.findLastIndex((t) => t.state === State.CANARY);
  const began = c.history[at];
  const next = c.history[at + 1];
  if (!began) {
    const open = [State.PLANNED, State.APPROVED, State.SCHEDULED, State.DRAFT].includes(c.state);
    return { router: c.canary, state: open ? "next" : "unused", verdict: "" };
  }
  // A later apply sets the router's time again; the watch is then the history's.
  const applied = c.devices.find((d) => d.device === c.canary)?.applied;
  const within =
    applied && seconds(applied) >= seconds(began.time) && (!next || seconds(applied) <= seconds(next.time));
  const from = within ? applied : began.time;
  if (!next) return { router: c.canary, state: "watched", verdict: "", from };
  const state = next.state === State.APPLYING ? "kept" : "stopped";
  return { router: c.canary, state, verdict: next.note, from, until: next.time };
}

const seconds = (t: Timestamp | undefined) => Number(t?.seconds ?? 0n);

export const canaryLabels: Record<Canary["state"], { text: string; tone: Tone }> = {
  next: { text: "goes first", tone: "neutral" },
  watched: { text: "being watched", tone: "busy" },
  kept: { text: "kept its SLO", tone: "good" },
  stopped: { text: "stopped", tone: "bad" },
  unused: { text: "not reached", tone: "neutral" },
};

export interface WatchedQueue {
  /** Port and queue. */
  name: string;
  /** Packets since the first reading. */
  sent: number;
  dropped: number;
  /** Of those that were offered; undefined where none was. */
  lost: Share | undefined;
  readings: number;
}

const counter =
  /^\/qos\/interfaces\/interface\[interface-id=(.+)\]\/output\/queues\/queue\[name=(.+)\]\/state\/(transmit|dropped)-pkts$/;

/** What the queues of the canary sent and dropped between the first and the last reading, worst first. */
export function watchedQueues(series: readonly TelemetrySeries[]): WatchedQueue[] {
  const queues = new Map<string, WatchedQueue>();
  for (const s of series) {
    const [, port, queue, kind] = counter.exec(s.path) ?? [];
    if (!port) continue;
    const name = `${port}:${queue}`;
    const row = queues.get(name) ?? { name, sent: 0, dropped: 0, lost: undefined, readings: 0 };
    const values = s.points.map((p) => Number(p.value));
    if (kind === "dropped") row.dropped = growth(values);
    else row.sent = growth(values);
    row.readings = Math.max(row.readings, values.length);
    queues.set(name, row);
  }
  const rows = [...queues.values()].filter((q) => q.readings > 0).map((q) => ({ ...q, lost: lossOf(q) }));
  return rows.sort((a, b) => (b.lost ?? -1) - (a.lost ?? -1) || a.name.localeCompare(b.name));
}

const lossOf = (q: WatchedQueue) => (q.sent + q.dropped > 0 ? share(q.dropped / (q.sent + q.dropped)) : undefined);

/** By how much a counter rose; one that falls has started again at 0. */
const growth = (values: readonly number[]): number =>
  values.reduce((sum, v, i) => {
    const before = values[i - 1];
    return before === undefined ? sum : sum + (v >= before ? v - before : v);
  }, 0);
