// What an operator looks at in the evening: circuits with something until the morning, and those that are not as they should be.
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type Circuit, State } from "../gen/millrace/circuits/v1/circuits_pb";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { keptOff, keptOffText } from "./circuits";
import type { TimeWindow } from "./strip";
import { millis } from "./units";

const hour = 3_600_000;
/** The morning is at this hour of the browser's clock, and what is shown is never less than so many hours. */
const morning = 8;
const least = 4;

/** From now until the next morning that is not too near. */
export function nightFrom(now: number): TimeWindow {
  const end = new Date(now + least * hour);
  if (end.getHours() >= morning) end.setDate(end.getDate() + 1);
  end.setHours(morning, 0, 0, 0);
  return { from: millis(now), to: millis(end.getTime()) };
}

/** Why an operator should look at a circuit, undefined where nothing is wrong with it. */
export function concern(c: Circuit): string | undefined {
  if (c.notRestored) return "a link is gone, and there is no other path";
  if (c.state === State.INTERRUPTED) return "interrupted";
  if (c.preempted) return "preempted";
  if (c.state === State.HELD) return "not committed";
  if (keptOff(c)) return keptOffText;
  if (c.late) return "late";
  return undefined;
}

const ms = (t: Timestamp | undefined, otherwise: number) => (t ? timestampDate(t).getTime() : otherwise);

/** Circuits with capacity in the window: those to look at first, then in the order in which they begin. */
export function circuitsIn(circuits: readonly Circuit[], { from, to }: TimeWindow): Circuit[] {
  const start = (c: Circuit) => ms(c.slots[0]?.start, 0);
  return circuits
    .filter((c) => c.slots.some((s) => ms(s.start, 0) < to && ms(s.end, Number.POSITIVE_INFINITY) > from))
    .sort(
      (a, b) =>
        Number(concern(b) !== undefined) - Number(concern(a) !== undefined) ||
        start(a) - start(b) ||
        (a.id < b.id ? -1 : 1),
    );
}

/** How many of them begin and end in the window, and how many are to be looked at. */
export function nightCounts(circuits: readonly Circuit[], { from, to }: TimeWindow) {
  const within = (t: Timestamp | undefined) => t !== undefined && ms(t, 0) >= from && ms(t, 0) < to;
  return {
    begin: circuits.filter((c) => within(c.slots[0]?.start) && !keptOff(c)).length,
    end: circuits.filter((c) => within(c.slots.at(-1)?.end)).length,
    concerns: circuits.filter((c) => concern(c) !== undefined).length,
  };
}

/** The change sets that routers carry a circuit by, and those that left it out, newest first as they are listed. */
export function changeSetsOf(id: string, changes: readonly ChangeSet[]): ChangeSet[] {
  return changes.filter((c) => c.circuits.includes(id) || c.refusedCircuits.some((r) => r.circuit === id));
}
