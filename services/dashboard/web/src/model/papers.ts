// The scoreboard of `millrace papers`. Fields that this page does not know are
// ignored, so that it also reads the results of a newer version.

export type Outcome = "within" | "outside" | "not measured";

export const outcomes: readonly Outcome[] = ["within", "outside", "not measured"];

export interface ScoreRow {
  experiment: string;
  key: string;
  /** Table or figure of the paper, and the quantity. */
  item: string;
  what: string;
  unit: string;
  paper: number;
  twin: number | undefined;
  lab: { value: number; hint: string } | undefined;
  /** Relative to the paper's value, absolute where that is 0; undefined where the comparison is a bound. */
  error: number | undefined;
  tolerance: string;
  outcome: Outcome;
  /** Why the tolerance is what it is. */
  rationale: string;
  /** What is wrong or missing with the paper's number itself. */
  caveat: string;
  /** Why the results differ. */
  explanation: string;
}

export interface ScoreExperiment {
  id: string;
  title: string;
  rows: readonly ScoreRow[];
  figures: readonly { title: string; file: string }[];
}

export interface Scoreboard {
  source: string;
  experiments: readonly ScoreExperiment[];
  problems: readonly string[];
}

type Fields = Record<string, unknown>;

const fields = (v: unknown): Fields => (typeof v === "object" && v !== null ? (v as Fields) : {});
const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const text = (v: unknown): string => (typeof v === "string" ? v : "");
const number = (v: unknown): number | undefined => (typeof v === "number" && Number.isFinite(v) ? v : undefined);

export function readScoreboard(answer: unknown): Scoreboard {
  const a = fields(answer);
  return {
    source: text(a.source),
    problems: list(a.problems).map(text).filter(Boolean),
    experiments: list(a.experiments)
      .map(readExperiment)
      .filter((e) => e.id !== "")
      .sort((x, y) => x.id.localeCompare(y.id, "en", { numeric: true })),
  };
}

function readExperiment(value: unknown): ScoreExperiment {
  const e = fields(value);
  const id = text(e.id);
  return {
    id,
    title: text(e.title),
    rows: list(e.verdicts).map((v) => readRow(id, fields(v))),
    figures: list(e.figures)
      .map(fields)
      .map((f) => ({ title: text(f.title), file: text(f.file) }))
      .filter((f) => /^[\w.-]+\.svg$/.test(f.file)),
  };
}

function readRow(experiment: string, v: Fields): ScoreRow {
  const missing = v.missing === true;
  const op = text(v.op);
  const lab = fields(v.lab);
  const labValue = number(lab.value);
  const how = [text(lab.scenario), text(lab.scale), text(lab.measured)].filter(Boolean).join(", ");
  return {
    experiment,
    key: text(v.key),
    item: text(v.item),
    what: text(v.what),
    unit: text(v.unit),
    paper: number(v.paper) ?? Number.NaN,
    twin: missing ? undefined : number(v.twin),
    lab: labValue === undefined ? undefined : { value: labValue, hint: how },
    error: missing || op !== "" ? undefined : number(v.error),
    tolerance: toleranceText(op, number(v.relative) ?? 0, number(v.absolute) ?? 0),
    outcome: missing ? "not measured" : v.within === true ? "within" : "outside",
    rationale: text(v.rationale),
    caveat: text(v.caveat),
    explanation: text(v.explanation),
  };
}

function toleranceText(op: string, relative: number, absolute: number): string {
  if (op === ">=") return "at least";
  if (op === "<=") return "at most";
  const parts = [];
  if (relative > 0) parts.push(`±${short(100 * relative)} %`);
  if (absolute > 0 || relative === 0) parts.push(`±${short(absolute)}`);
  return parts.join(" or ");
}

const short = (v: number) => String(Number(v.toPrecision(4)));

/** The paper's number, which ids begin with. */
export const paperOf = (experiment: string) => experiment.slice(0, 3);

export interface PaperTotals {
  paper: string;
  rows: number;
  counts: Record<Outcome, number>;
}

/** Totals per paper, in the order of their numbers. */
export function totals(board: Scoreboard): PaperTotals[] {
  const out = new Map<string, PaperTotals>();
  for (const e of board.experiments) {
    const paper = paperOf(e.id);
    const t = out.get(paper) ?? { paper, rows: 0, counts: { within: 0, outside: 0, "not measured": 0 } };
    out.set(paper, t);
    for (const r of e.rows) {
      t.rows++;
      t.counts[r.outcome]++;
    }
  }
  return [...out.values()].sort((a, b) => a.paper.localeCompare(b.paper));
}

/** Experiments with the rows that pass the filter; those without any are left out. */
export function filtered(board: Scoreboard, paper: string | undefined, outcome: string | undefined): ScoreExperiment[] {
  return board.experiments
    .filter((e) => !paper || paperOf(e.id) === paper)
    .map((e) => ({ ...e, rows: e.rows.filter((r) => !outcome || r.outcome === outcome) }))
    .filter((e) => e.rows.length > 0);
}

export function valueText(v: number | undefined, unit: string): string {
  if (v === undefined || Number.isNaN(v)) return "–";
  const digits = Math.abs(v) >= 10_000 ? v.toFixed(0) : short(v);
  return `${digits} ${unit}`.trim();
}

export function errorText(r: ScoreRow): string {
  if (r.error === undefined) return "";
  const sign = r.error > 0 ? "+" : "";
  return r.paper === 0 ? `${sign}${short(r.error)}` : `${sign}${(100 * r.error).toFixed(1)} %`;
}

const names: Record<string, string> = {
  "000": "Multipath TCP packet forwarding (report, 2001)",
  "001": "I2VFC: scalable IP-VPN flow control",
  "002": "HNTES: circuits for alpha flows",
  "003": "Multipath TCP packet forwarding (JCN, 2002)",
  "004": "Less than best effort on GEANT",
};

export const paperName = (paper: string) => names[paper] ?? "";
