// Change sets and what an operator does with them.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import type { TelemetrySeries } from "../gen/millrace/flow/v1/flow_pb";
import type { Drift } from "../gen/millrace/push/v1/drift_pb";
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { type Action, isRunning } from "../model/changes";
import type { Millis } from "../model/units";
import { always, type Polled, Resource } from "./resource";

/** Who acts, and why; the change set's history keeps both. */
export interface Decision {
  by: string;
  note: string;
}

export interface ChangeStore {
  /** Newest first, each with its plans and diffs. */
  list: Resource<ChangeSet[]>;
  /** What the freeze switch keeps change sets off; that of all routers first. */
  freezes: Resource<Freeze[]>;
  /** Routers whose running config differs from what change sets left. */
  drift: Resource<Drift[]>;
  /** Takes the action; returns in one line why it failed. */
  act: (action: Action, id: string, decision: Decision) => Promise<string | undefined>;
  /** Turns the freeze switch of a router, of all where it is empty; returns in one line why it failed. */
  freeze: (router: string, decision: Decision) => Promise<string | undefined>;
  unfreeze: (router: string, decision: Decision) => Promise<string | undefined>;
  /** Queue counters of a canary router while it was watched; without an end it still is. */
  readings: (router: string, from: Millis | undefined, until: Millis | undefined) => Resource<TelemetrySeries[]>;
}

const listed = 50;

export function createChanges(api: Pick<Api, "changes" | "store">): ChangeStore {
  const list = new Resource(
    (signal) => load(api, signal),
    (changes) => (changes?.some((c) => isRunning(c.state)) ? 700 : 3000),
  );
  const freezes = new Resource(async (signal) => (await api.changes.listFreezes({}, { signal })).freezes, always(3000));
  const drift = new Resource(async (signal) => (await api.changes.listDrift({}, { signal })).drifts, always(10_000));
  const act: ChangeStore["act"] = async (action, id, { by, note }) => {
    const send = async () => {
      if (action === "approve") await api.changes.approve({ id, by, note, apply: true });
      else if (action === "apply") await api.changes.apply({ id, by });
      else if (action === "abort") await api.changes.abort({ id, by, note });
      else await api.changes.rollback({ id, by, note });
    };
    return attempt(send, list);
  };
  const freeze: ChangeStore["freeze"] = (router, { by, note }) =>
    attempt(() => api.changes.freeze({ router, by, reason: note }), freezes);
  const unfreeze: ChangeStore["unfreeze"] = (router, { by, note }) =>
    attempt(() => api.changes.unfreeze({ router, by, note }), freezes);
  return { list, freezes, drift, act, freeze, unfreeze, readings: (...window) => readings(api, ...window) };
}

/** Calls the service and reads again what it changes; returns in one line why it failed. */
export async function attempt(call: () => Promise<unknown>, changed: Polled): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (reason) {
    return errorText(reason);
  } finally {
    void changed.refresh();
  }
}

function readings(api: Pick<Api, "store">, router: string, from?: Millis, until?: Millis): Resource<TelemetrySeries[]> {
  const load = async (signal: AbortSignal) => {
    const to = timestampFromMs(Math.ceil(until ?? Date.now()));
    const since = from && { from: timestampFromMs(Math.floor(from)) };
    const window = { device: router, pathPrefix: "/qos/interfaces", to, ...since };
    return (await api.store.telemetry(window, { signal })).series;
  };
  return new Resource(load, always(until ? 60_000 : 2000));
}

async function load(api: Pick<Api, "changes">, signal: AbortSignal): Promise<ChangeSet[]> {
  const { changes } = await api.changes.list({ limit: listed }, { signal });
  return changes.sort(
    (a, b) => Number((b.created?.seconds ?? 0n) - (a.created?.seconds ?? 0n)) || b.id.localeCompare(a.id),
  );
}
