import { expect, test } from "vitest";
import { errorText, filtered, readScoreboard, type ScoreRow, totals, valueText } from "./papers";

const verdicts = [
  {
    key: "a",
    item: "table I",
    what: "VPN 1",
    unit: "Mbit/s",
    paper: 10,
    twin: 9,
    error: -0.1,
    within: true,
    relative: 0.15,
    rationale: "one run",
    surprise: {},
  },
  {
    key: "b",
    item: "table I",
    what: "F",
    paper: 0,
    twin: 0.02,
    error: 0.02,
    within: false,
    absolute: 0.01,
    explanation: "short run",
    lab: { value: 0.5, scenario: "i2vfc", scale: "1:10" },
  },
  { key: "c", item: "text", what: "more than 0.9", paper: 0.9, twin: 0.95, error: 0.05, within: true, op: ">=" },
  {
    key: "d",
    item: "fig. 3",
    what: "never run",
    paper: 5,
    error: 0,
    missing: true,
    relative: 0.1,
    absolute: 2,
    caveat: "axis without unit",
  },
];

const board = readScoreboard({
  source: "built in",
  experiments: [
    { id: "002-exp1", title: "Weights", verdicts: [verdicts[3]] },
    {
      id: "001-single",
      title: "One bottleneck",
      verdicts,
      figures: [{ title: "F", file: "001-single-1.svg" }, { file: "../../x.svg" }, { file: "x.js" }],
    },
    { title: "no id" },
  ],
});

test("rows are read with what they need, and what they do not is left alone", () => {
  const rows = board.experiments[0]?.rows ?? [];
  expect(board.experiments.map((e) => e.id)).toEqual(["001-single", "002-exp1"]);
  expect(rows.map((r) => [r.what, r.outcome, r.tolerance, errorText(r), valueText(r.twin, r.unit)])).toEqual([
    ["VPN 1", "within", "±15 %", "-10.0 %", "9 Mbit/s"],
    ["F", "outside", "±0.01", "+0.02", "0.02"],
    ["more than 0.9", "within", "at least", "", "0.95"],
    ["never run", "not measured", "±10 % or ±2", "", "–"],
  ]);
  expect(rows[1]?.lab).toEqual({ value: 0.5, hint: "i2vfc, 1:10" });
  expect(rows[3]?.caveat).toBe("axis without unit");
});

test("only plots beside the results are shown", () => {
  expect(board.experiments[0]?.figures).toEqual([{ title: "F", file: "001-single-1.svg" }]);
});

test("totals count rows per paper", () => {
  expect(totals(board)).toEqual([
    { paper: "001", rows: 4, counts: { within: 2, outside: 1, "not measured": 1 } },
    { paper: "002", rows: 1, counts: { within: 0, outside: 0, "not measured": 1 } },
  ]);
});

test.each<[string | undefined, string | undefined, string[]]>([
  [undefined, undefined, ["001-single 4", "002-exp1 1"]],
  ["002", undefined, ["002-exp1 1"]],
  [undefined, "outside", ["001-single 1"]],
  ["002", "outside", []],
])("paper %s and verdict %s", (paper, outcome, want) => {
  expect(filtered(board, paper, outcome).map((e) => `${e.id} ${e.rows.length}`)).toEqual(want);
});

test.each([[undefined], [null], ["text"], [{}], [{ experiments: "none" }], [{ experiments: [null, 1, { id: 5 }] }]])(
  "what is no scoreboard (%j) is an empty one",
  (answer) => {
    expect(readScoreboard(answer).experiments).toEqual([]);
  },
);

test("numbers that are none are said to be none", () => {
  const row = readScoreboard({ experiments: [{ id: "001-x", verdicts: [{ paper: "ten" }, null] }] }).experiments[0]
    ?.rows[0] as ScoreRow;
  expect([valueText(row.paper, "s"), row.tolerance, row.outcome]).toEqual(["–", "±0", "outside"]);
  expect(valueText(123_456.7, "")).toBe("123457");
});
