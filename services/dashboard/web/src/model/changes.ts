// The states of a change set and of its routers in words, and what an operator may do in each.
import changestates from "../gen/changestates.json";
import { type ChangeSet, DeviceState, State } from "../gen/millrace/push/v1/push_pb";
import { parseDiff } from "./diff";

export type Tone = "neutral" | "waiting" | "busy" | "good" | "bad";

export interface Label {
  text: string;
  tone: Tone;
}

const stateLabels: Record<State, Label> = {
  [State.UNSPECIFIED]: { text: "unknown", tone: "bad" },
  [State.DRAFT]: { text: "draft", tone: "neutral" },
  [State.PLANNED]: { text: "planned", tone: "waiting" },
  [State.APPROVED]: { text: "approved", tone: "waiting" },
  [State.SCHEDULED]: { text: "scheduled", tone: "waiting" },
  [State.CANARY]: { text: "canary", tone: "busy" },
  [State.APPLYING]: { text: "applying", tone: "busy" },
  [State.APPLIED]: { text: "applied", tone: "busy" },
  [State.VERIFIED]: { text: "verified", tone: "good" },
  [State.ROLLED_BACK]: { text: "rolled back", tone: "neutral" },
  [State.FAILED]: { text: "failed", tone: "bad" },
  [State.EMPTY]: { text: "no change", tone: "neutral" },
  [State.ROLLING_BACK]: { text: "rolling back", tone: "busy" },
  [State.ABORTED]: { text: "aborted", tone: "neutral" },
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

/** What an operator may do with a change set. */
export type Action = "approve" | "apply" | "rollback" | "abort";

export const actionTitles: Record<Action, string> = {
  approve: "Approve and apply",
  apply: "Apply",
  rollback: "Roll back",
  abort: "Abort",
};

interface StateRow {
  /** running: the push service moves it on. waiting: an operator does. settled: it stays. */
  progress: "running" | "waiting" | "settled";
  action?: Action;
  /** Whether an operator may stop it, beside that. */
  abort?: boolean;
}

/** The table of internal/changestate, which the push service and the command use too. */
const stateRows = changestates as Partial<Record<string, StateRow>>;

export const stateRow = (s: State): StateRow | undefined => stateRows[`STATE_${State[s]}`];

export const actionOf = (s: State): Action | undefined => stateRow(s)?.action;

export const canAbort = (s: State): boolean => stateRow(s)?.abort === true;

/** The step that an operator may request in a state. */
export const actionsOf = (s: State): Action[] => {
  const step = actionOf(s);
  return [...(step ? [step] : []), ...(canAbort(s) ? ["abort" as const] : [])];
};

/** Whether an action rolls routers back. */
export const undoes = (action: Action): boolean => action === "rollback" || action === "abort";

/** Whether the push service moves it on by itself; the page then polls faster. */
export const isRunning = (s: State): boolean => stateRow(s)?.progress === "running";

/** Change sets that await approval, newest first. */
export const awaiting = (changes: readonly ChangeSet[]) => changes.filter((c) => actionOf(c.state) === "approve");

/** What an approval or an apply does to a change set without a canary. */
export const atOnce =
  "Every router of this change set is changed now, or when the maintenance window opens, by commit confirmed: unless all routers pass their checks, all roll back.";

/** How a change set in this state can be rolled back; undefined where nothing of it is on a router. */
export function rollbackText(s: State): string | undefined {
  switch (s) {
    case State.PLANNED:
    case State.APPROVED:
    case State.SCHEDULED:
      return "until verified, automatic on all routers if one fails its checks (commit confirmed); then with the button Roll back";
    case State.CANARY:
    case State.APPLYING:
    case State.APPLIED:
      return "automatic on all routers if one fails its checks (commit confirmed)";
    case State.VERIFIED:
      return "with the button above; every router returns to the config it had before";
    default:
      return undefined;
  }
}

export interface DiffSize {
  device: string;
  added: number;
  removed: number;
}

/** Lines added and removed on each router whose config differs. */
export function diffSizes(change: ChangeSet): DiffSize[] {
  return change.devices
    .map((d) => ({ device: d.device, diff: parseDiff(d.diff) }))
    .filter(({ diff }) => diff.sections.length > 0)
    .map(({ device, diff }) => ({ device, added: diff.added, removed: diff.removed }));
}
