// The form that changes the rate and the end of a circuit.
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Terms } from "../gen/millrace/circuits/v1/circuits_pb";
import { type RateUnit, type ReadTime, rateDecimals, rateFields, type WriteTime } from "./circuitForm";
import { scaledUp } from "./decimal";

export interface SizeForm {
  rate: string;
  rateUnit: RateUnit;
  /** Local time as a browser's field has it; empty: open-ended. */
  end: string;
}

export const emptySize: SizeForm = { rate: "", rateUnit: "Mbit/s", end: "" };

export type SizeProblems = Partial<Record<keyof SizeForm, string>>;
/** What of rate and end becomes another: what is not here stays as it is. */
export interface SizeChange {
  rateBitsPerSecond?: bigint;
  end?: Timestamp;
  openEnded?: boolean;
}

/** The form with the rate and the end of a circuit. */
export const sizeFormOf = (t: Terms, writeTime: WriteTime): SizeForm => ({
  ...rateFields(t.scavenger ? 0n : t.rateBitsPerSecond, emptySize.rateUnit),
  end: t.end ? writeTime(Number(t.end.seconds) * 1000) : "",
});

/** What of the form is another than it was, and the fields that are wrong. */
export function sizeChange(
  form: SizeForm,
  was: SizeForm,
  readTime: ReadTime,
): { change: SizeChange; problems: SizeProblems } {
  const change: SizeChange = {};
  const problems: SizeProblems = {};
  if (form.rate.trim() !== was.rate || form.rateUnit !== was.rateUnit) {
    const rate = scaledUp(form.rate, rateDecimals[form.rateUnit]);
    if (!rate) problems.rate = "Write a number above 0, such as 2.5.";
    else change.rateBitsPerSecond = rate;
  }
  if (form.end !== was.end && form.end === "") change.openEnded = true;
  else if (form.end !== was.end) {
    const ms = readTime(form.end);
    if (Number.isNaN(ms)) problems.end = "This is no time.";
    else change.end = timestampFromMs(ms);
  }
  return { change, problems };
}
