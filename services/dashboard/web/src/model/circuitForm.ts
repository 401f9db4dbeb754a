// The form that requests a circuit: texts on the page, terms of the API.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  Every,
  type PrefixPair,
  type PrefixPairSchema,
  type Proposal,
  Protection,
  type RequestAllRequestSchema,
  type Terms,
  type TermsSchema,
} from "../gen/millrace/circuits/v1/circuits_pb";
import { emptyPath, type PathForm, pathFormOf, wantsOf } from "./circuitPath";
import { scaledDown, scaledUp } from "./decimal";

export interface CircuitForm extends PathForm {
  project: string;
  from: string;
  to: string;
  /** A rate over the window, a volume by its end, or a path and no rate on it. */
  kind: "rate" | "volume" | "scavenger";
  rate: string;
  rateUnit: RateUnit;
  volume: string;
  volumeUnit: VolumeUnit;
  /** Local times as a browser's field has them; empty: now, and open-ended. */
  start: string;
  end: string;
  protection: Protection;
  /** It may have what operators keep above the soft cap. */
  aboveSoftCap: boolean;
  /** A line for each pair of prefixes, with protocol and ports where these matter. */
  pairs: string;
  description: string;
  /** Holding and setup priority, 0 to 7; empty: what the service takes without one. */
  priority: string;
  setup: string;
  /** The same window again, so often. */
  every: Every;
  times: string;
  /** Over how many paths a volume is spread at most. */
  paths: string;
}

/** The choices of how many paths. */
export const pathCounts = ["1", "2", "3", "4", "5", "6", "7", "8"] as const;

export const priorities = ["0", "1", "2", "3", "4", "5", "6", "7"] as const;

export type Field = keyof CircuitForm;
export type Problems = Partial<Record<Field, string>>;
export type TermsInit = MessageInitShape<typeof TermsSchema>;
/** What makes several circuits of the terms. */
export type BatchInit = Pick<MessageInitShape<typeof RequestAllRequestSchema>, "repeat" | "maxPaths">;

export const rateUnits = ["kbit/s", "Mbit/s", "Gbit/s"] as const;
export type RateUnit = (typeof rateUnits)[number];
export const volumeUnits = ["MB", "GB", "TB"] as const;
export type VolumeUnit = (typeof volumeUnits)[number];

export const rateDecimals: Record<RateUnit, number> = { "kbit/s": 3, "Mbit/s": 6, "Gbit/s": 9 };

const decimals: Record<RateUnit | VolumeUnit, number> = {
  ...rateDecimals,
  MB: 6,
  GB: 9,
  TB: 12,
};

export const emptyForm: CircuitForm = {
  project: "",
  from: "",
  to: "",
  kind: "rate",
  rate: "",
  rateUnit: "Mbit/s",
  volume: "",
  volumeUnit: "GB",
  start: "",
  end: "",
  protection: Protection.UNSPECIFIED,
  aboveSoftCap: false,
  pairs: "",
  description: "",
  priority: "",
  setup: "",
  ...emptyPath,
  every: Every.UNSPECIFIED,
  times: "7",
  paths: "1",
};

const mostTimes = 60;

/** Local time to a timestamp; the caller has the time zone. */
export type ReadTime = (text: string) => number;

/** The terms that the form requests, and the fields that are wrong or missing. */
export function termsOf(form: CircuitForm, readTime: ReadTime): { terms: TermsInit; problems: Problems } {
  const wants = wantsOf(form);
  const problems: Problems = {};
  const terms: TermsInit = {
    ...wants.path,
    project: form.project.trim(),
    from: form.from,
    to: form.to,
    description: form.description.trim(),
    protection: form.kind === "volume" ? Protection.UNSPECIFIED : form.protection,
    scavenger: form.kind === "scavenger",
    aboveSoftCap: form.aboveSoftCap,
  };
  const missing = (field: Field, empty: boolean, what: string) => {
    if (empty) problems[field] = what;
  };
  missing("project", form.project.trim() === "", "Which project?");
  missing("from", form.from === "", "From which router?");
  missing("to", form.to === "", "To which router?");
  if (form.from !== "" && form.from === form.to) problems.to = "Both ends are the same router.";
  const number = (field: "rate" | "volume", power: number, needed: boolean): bigint => {
    const text = form[field];
    const value = text.trim() === "" ? undefined : scaledUp(text, power);
    if (text.trim() !== "" && value === undefined) problems[field] = "Write a number such as 2.5.";
    else if (needed && (value ?? 0n) === 0n) problems[field] = `How much? Write a ${field} above 0.`;
    return value ?? 0n;
  };
  if (form.kind !== "scavenger")
    terms.rateBitsPerSecond = number("rate", decimals[form.rateUnit], form.kind === "rate");
  if (form.kind === "volume") terms.volumeBytes = number("volume", decimals[form.volumeUnit], true);
  const moment = (field: "start" | "end"): Timestamp | undefined => {
    if (form[field] === "") return undefined;
    const ms = readTime(form[field]);
    if (Number.isNaN(ms)) problems[field] = "This is no time.";
    return Number.isNaN(ms) ? undefined : timestampFromMs(ms);
  };
  const start = moment("start");
  const end = moment("end");
  if (start) terms.start = start;
  if (end) terms.end = end;
  if (start && end && end.seconds <= start.seconds) problems.end = "The end must be after the start.";
  missing("end", form.kind === "volume" && form.end === "", "By when must it be there?");
  terms.pairs = pairsOf(form.pairs, problems);
  Object.assign(problems, wants.problems);
  checkTimes(form, problems);
  if (form.priority !== "") terms.priority = Number(form.priority);
  if (form.setup !== "" && form.kind === "rate") {
    terms.setupPriority = Number(form.setup);
    if (form.priority !== "" && form.setup < form.priority) problems.setup = "It must not be before the priority.";
  }
  return { terms, problems };
}

function checkTimes(form: CircuitForm, problems: Problems) {
  if (form.every === Every.UNSPECIFIED) return;
  const times = /^\d{1,2}$/.test(form.times.trim()) ? Number(form.times) : 0;
  if (times < 2 || times > mostTimes) problems.times = `Write a number from 2 to ${mostTimes}.`;
  if (form.start === "" || form.end === "") problems.every = "A window that is repeated has a start and an end.";
  if (pathsOf(form) > 1) problems.every = "A volume over several paths is requested once.";
}

const pathsOf = (form: CircuitForm): number => (form.kind === "volume" ? Number(form.paths) : 1);

/** The several circuits that are requested, in windows by the clock of a time zone or over paths; undefined for one. */
export function batchOf(form: CircuitForm, timeZone: string): BatchInit | undefined {
  if (form.every !== Every.UNSPECIFIED) return { repeat: { every: form.every, times: Number(form.times), timeZone } };
  return pathsOf(form) > 1 ? { maxPaths: pathsOf(form) } : undefined;
}

/** Stands for a protocol or ports that do not matter. */
const any = "any";

type PairInit = MessageInitShape<typeof PrefixPairSchema>;

/** A line has two prefixes, and perhaps a protocol, source ports and destination ports. */
function pairsOf(text: string, problems: Problems): PairInit[] {
  const lines = text.split("\n").filter((l) => l.trim() !== "");
  const pairs = lines.map((l) => l.trim().split(/\s*(?:→|->|,|\s)\s*/));
  const bad = pairs.findIndex((p) => p.length < 2 || p.length > 5);
  if (bad >= 0)
    problems.pairs = `Line ${bad + 1}: write two prefixes, and perhaps protocol and ports, such as 192.0.2.0/24 198.51.100.0/24 tcp any 5001.`;
  return pairs.map((words) => {
    const [source = "", destination = "", protocol = "", sourcePorts = "", destinationPorts = ""] = words.map((w) =>
      w === any ? "" : w,
    );
    return { source, destination, protocol, sourcePorts, destinationPorts };
  });
}

/** A pair as a line of the form. */
export function pairLine(p: PrefixPair): string {
  const words = [p.source, p.destination, p.protocol, p.sourcePorts, p.destinationPorts];
  return words
    .slice(0, words.findLastIndex((w) => w !== "") + 1)
    .map((w) => w || any)
    .join(" ");
}

/** A timestamp as the field of the form has it; the caller has the time zone. */
export type WriteTime = (ms: number) => string;

/** The form with these terms; terms that the form has no field for stay as they are in the form. */
export function formOf(terms: Terms, form: CircuitForm, writeTime: WriteTime): CircuitForm {
  const time = (t: Timestamp | undefined) => (t ? writeTime(Number(t.seconds) * 1000) : "");
  const rate = rateFields(terms.rateBitsPerSecond, form.rateUnit);
  const volumeUnit = largest(volumeUnits, terms.volumeBytes) ?? form.volumeUnit;
  const number = (n: bigint, power: number) => (n > 0n ? scaledDown(n, power) : "");
  return {
    ...form,
    kind: terms.scavenger ? "scavenger" : terms.volumeBytes > 0n ? "volume" : "rate",
    ...rate,
    rate: terms.scavenger ? form.rate : rate.rate,
    volume: number(terms.volumeBytes, decimals[volumeUnit]),
    volumeUnit,
    start: time(terms.start),
    end: time(terms.end),
    protection: terms.protection,
    aboveSoftCap: terms.aboveSoftCap,
    ...pathFormOf(terms),
  };
}

/** A rate as two fields have it: in the largest unit of which there is at least one, empty for nothing. */
export function rateFields(rate: bigint, unit: RateUnit): { rate: string; rateUnit: RateUnit } {
  const rateUnit = largest(rateUnits, rate) ?? unit;
  return { rate: rate > 0n ? scaledDown(rate, rateDecimals[rateUnit]) : "", rateUnit };
}

/**
 * A form with what a proposal is for, and nothing of an earlier one: its priority might displace circuits. Undefined where it
 * has no terms.
 */
export function proposedForm({ terms }: Proposal, writeTime: WriteTime): CircuitForm | undefined {
  if (!terms) return undefined;
  const pairs = terms.pairs.map(pairLine).join("\n");
  const { project, from, to, description } = terms;
  return {
    ...formOf(terms, emptyForm, writeTime),
    project,
    from,
    to,
    description,
    pairs,
  };
}

/** The largest unit of which there is at least one; undefined for nothing. */
const largest = <U extends RateUnit | VolumeUnit>(units: readonly U[], n: bigint): U | undefined =>
  n === 0n ? undefined : (units.findLast((u) => n >= 10n ** BigInt(decimals[u])) ?? units[0]);
