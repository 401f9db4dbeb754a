import { expect, test } from "vitest";
import { linePath, niceMax, type Reading, readingAt, ticks } from "./chart";
import { millis } from "./units";

test.each([
  [0, 1],
  [Number.NaN, 1],
  [Number.POSITIVE_INFINITY, 1],
  [1, 1],
  [1.01, 2],
  [47_300_000, 50_000_000],
  [50_000_001, 100_000_000],
  [0.03, 0.05],
])("above %d stands %d", (v, want) => {
  expect(niceMax(v)).toBeCloseTo(want, 9);
});

test("the axis names its ends and its middle", () => {
  expect(ticks(50)).toEqual([0, 25, 50]);
});

const readings = (...pairs: [number, number][]): Reading[] =>
  pairs.map(([s, value]) => ({ time: millis(s * 1000), value }));
const window = { from: millis(0), to: millis(10_000), max: 10 };
const size = { width: 100, height: 50 };

test.each<[string, Reading[], string]>([
  ["joined where readings follow each other", readings([0, 0], [1, 5], [2, 10]), "M0.0 50.0L10.0 25.0L20.0 0.0"],
  ["broken where nothing is known", readings([0, 5], [1, 5], [9, 5]), "M0.0 25.0L10.0 25.0M90.0 25.0"],
  ["cut at the window", readings([-1, 5], [1, 5], [11, 5]), "M10.0 25.0"],
  ["held below the top", readings([1, 99]), "M10.0 0.0"],
  ["nothing without readings", [], ""],
])("a line is %s", (_name, list, want) => {
  expect(linePath(list, window, size)).toBe(want);
});

test("the reading at a time is the nearest, if it is near", () => {
  const list = readings([1, 1], [2, 2], [20, 3]);
  expect(readingAt(list, millis(1600))?.value).toBe(2);
  expect(readingAt(list, millis(10_000))).toBeUndefined();
});

test("a chart may join readings that are far apart", () => {
  const far = readings([0, 5], [9, 5]);
  expect(linePath(far, window, size, 9000)).toBe("M0.0 25.0L90.0 25.0");
  expect(readingAt(far, millis(3000), 9000)?.time).toBe(0);
});
