// How far a change set has come, and why one stopped early.
import { type ChangeSet, State, type Transition } from "../gen/millrace/push/v1/push_pb";
import { stateLabel } from "./changes";

export interface Step {
  name: string;
  state: "done" | "now" | "todo" | "failed";
  transition?: Transition;
}

/** States that end the steps early or undo them. */
const departures = new Set([State.FAILED, State.ROLLING_BACK, State.ROLLED_BACK, State.ABORTED]);
const course = [State.PLANNED, State.APPROVED, State.APPLIED, State.VERIFIED];

/** The steps from planned to verified; after a failure or a rollback, the steps that were done and where it ended. */
export function steps(change: ChangeSet): Step[] {
  const reached = course.findLastIndex((s) => lastTransition(change, s) !== undefined || s === change.state);
  const out = course.map((s, i) => step(change, s, i <= reached ? "done" : "todo"));
  if (departures.has(change.state))
    return [...out.filter((s) => s.state === "done"), step(change, change.state, "failed")];
  const next = out[reached + 1];
  if (next && change.state !== State.EMPTY) next.state = "now";
  return out;
}

const lastTransition = (change: ChangeSet, s: State) => change.history.findLast((t) => t.state === s);

function step(change: ChangeSet, s: State, state: Step["state"]): Step {
  const transition = lastTransition(change, s);
  return { name: stateLabel(s).text, state, ...(transition && { transition }) };
}

/**
 * Why a change set failed or was rolled back automatically: the last note of its history, then each router's own error.
 * Of one that was aborted: who did it, and why.
 */
export function failures(change: ChangeSet): string[] {
  const last = change.history.at(-1);
  if (change.state === State.ABORTED) return [`Aborted by ${last?.by}${last?.note ? `: ${last.note}` : ""}`];
  const wasVerified = change.history.some((t) => t.state === State.VERIFIED);
  const ended = change.state === State.FAILED || (change.state === State.ROLLED_BACK && !wasVerified);
  const note = (ended && last?.note) || "";
  const errors = change.devices.filter((d) => d.error && !note.includes(d.error)).map((d) => `${d.device}: ${d.error}`);
  return note ? [note, ...errors] : errors;
}
