// What a change set is, may become, and would do, in words.
import type { RedirectRule, RouterPlan } from "../gen/millrace/policy/v1/policy_pb";
import {
  type ChangeSet,
  type DeviceChange,
  DeviceState,
  State,
  type Transition,
} from "../gen/millrace/push/v1/push_pb";
import { bitsPerSecond, formatRate } from "./units";

export type Tone = "neutral" | "waiting" | "busy" | "good" | "bad";

export interface Label {
  text: string;
  tone: Tone;
}

const stateLabels: Record<State, Label> = {
  [State.UNSPECIFIED]: { text: "unknown", tone: "bad" },
  [State.DRAFT]: { text: "draft", tone: "neutral" },
  [State.PLANNED]: { text: "planned", tone: "waiting" },
  [State.APPROVED]: { text: "approved", tone: "busy" },
  [State.APPLYING]: { text: "applying", tone: "busy" },
  [State.APPLIED]: { text: "applied", tone: "busy" },
  [State.VERIFIED]: { text: "verified", tone: "good" },
  [State.ROLLED_BACK]: { text: "rolled back", tone: "neutral" },
  [State.FAILED]: { text: "failed", tone: "bad" },
  [State.EMPTY]: { text: "nothing to do", tone: "neutral" },
  [State.ROLLING_BACK]: { text: "rolling back", tone: "busy" },
};

const deviceLabels: Record<DeviceState, Label> = {
  [DeviceState.UNSPECIFIED]: { text: "unknown", tone: "bad" },
  [DeviceState.PLANNED]: { text: "planned", tone: "waiting" },
  [DeviceState.APPLIED]: { text: "applied", tone: "busy" },
  [DeviceState.CONFIRMED]: { text: "confirmed", tone: "good" },
  [DeviceState.ROLLED_BACK]: { text: "rolled back", tone: "neutral" },
  [DeviceState.FAILED]: { text: "failed", tone: "bad" },
  [DeviceState.UNKNOWN]: { text: "not known", tone: "bad" },
};

export const stateLabel = (s: State): Label => stateLabels[s] ?? stateLabels[State.UNSPECIFIED];
export const deviceLabel = (s: DeviceState): Label => deviceLabels[s] ?? deviceLabels[DeviceState.UNSPECIFIED];
export const stateName = (s: State): string => State[s] ?? "UNSPECIFIED";

/** What an operator may do with it now; the service has the last word. */
export type Action = "approve" | "apply" | "rollback";

export function actionsOf(state: State): Action[] {
  switch (state) {
    case State.PLANNED:
      return ["approve"];
    case State.APPROVED:
      return ["apply"];
    case State.VERIFIED:
      return ["rollback"];
    default:
      return [];
  }
}

/** Change sets somebody has to decide on, newest first. */
export const awaiting = (changes: readonly ChangeSet[]) => changes.filter((c) => c.state === State.PLANNED);

/** Whether it moves on by itself, so that it is worth asking often. */
export const inMotion = (state: State) => moving.has(state);

const moving = new Set([State.DRAFT, State.APPROVED, State.APPLYING, State.APPLIED, State.ROLLING_BACK]);

export interface Step {
  name: string;
  state: "done" | "now" | "todo" | "failed";
  transition?: Transition;
}

const gone = new Set([State.FAILED, State.ROLLING_BACK, State.ROLLED_BACK]);
const course = [State.PLANNED, State.APPROVED, State.APPLIED, State.VERIFIED];

/** The course of a change set as steps; one that left it ends with where it went. */
export function steps(change: ChangeSet): Step[] {
  const last = (s: State) => change.history.findLast((t) => t.state === s);
  const left = gone.has(change.state);
  const reached = course.findLastIndex((s) => last(s) !== undefined || s === change.state);
  const out: Step[] = course.map((s, i) => {
    const step: Step = { name: stateLabel(s).text, state: i <= reached ? "done" : "todo" };
    const transition = last(s);
    if (transition) step.transition = transition;
    return step;
  });
  if (!left) {
    const now = out[reached + 1];
    if (now && change.state !== State.EMPTY) now.state = "now";
    return out;
  }
  const end: Step = { name: stateLabel(change.state).text, state: "failed" };
  const transition = last(change.state);
  if (transition) end.transition = transition;
  return [...out.filter((s) => s.state === "done"), end];
}

/** Why a change set did not end as it should: what was noted, then what each router said. */
export function outcome(change: ChangeSet): string[] {
  const wanted = change.history.some((t) => t.state === State.VERIFIED);
  const ended = change.state === State.FAILED || (change.state === State.ROLLED_BACK && !wanted);
  const note = (ended && change.history.at(-1)?.note) || "";
  const errors = change.devices.filter((d) => d.error && !note.includes(d.error)).map((d) => `${d.device}: ${d.error}`);
  return note ? [note, ...errors] : errors;
}

/** Routers where LSPs begin first: there a change decides what moves where. */
export const headsFirst = (devices: readonly DeviceChange[]) =>
  [...devices].sort((a, b) => Number((b.plan?.lsps.length ?? 0) > 0) - Number((a.plan?.lsps.length ?? 0) > 0));

/** A router's plan in sentences; nameOf turns loopbacks into names where they are known. */
export function planSentences(plan: RouterPlan, nameOf: (loopback: string) => string): string[] {
  const out: string[] = [];
  if (plan.queues.length && plan.ports.length) {
    const shares = plan.queues.map((q) => `${q.name} ${q.weight} %`).join(", ");
    const ports = plan.ports.map((p) => `${p.interface} (${formatRate(bitsPerSecond(Number(p.speed)))})`).join(", ");
    out.push(`Queues ${shares} on ${ports}`);
  }
  for (const lsp of plan.lsps) out.push(`LSP ${lsp.name} by ${[plan.router, ...lsp.hops.map(nameOf)].join(" → ")}`);
  for (const o of plan.policers)
    out.push(
      `At most ${formatRate(bitsPerSecond(Number(o.rate)))} into queue ${o.queue} on each of ${o.interfaces.join(", ")}`,
    );
  // A class is many rules, and stands in several filters; it reads as one sentence.
  return [...out, ...new Set(plan.rules.map(ruleSentence))];
}

function ruleSentence(r: RedirectRule): string {
  const what = r.class ? `Class ${r.class}` : `${r.src} → ${r.dst}`;
  const mark = r.mark === undefined ? "" : `, marked with DSCP ${r.mark}`;
  return `${what} into queue ${r.queue}${r.lsp ? ` and LSP ${r.lsp}` : ""}${mark}`;
}

/** Checks start with their verdict; anything but "ok" deserves a look. */
export const checkFailed = (line: string) => !/^(ok|pass)/i.test(line.trim());
