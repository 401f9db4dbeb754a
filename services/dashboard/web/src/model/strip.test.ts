import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { LinkCalendarSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { barsOf, bookedLinks, coverOf, hourTicks } from "./strip";
import { millis } from "./units";

const hour = 3_600_000;
const window = { from: millis(0), to: millis(10 * hour) };
const at = (h: number) => timestampFromMs(h * hour);

function link(id: string, room: number, least: number, ...pieces: [number, number, number][]) {
  return create(LinkCalendarSchema, {
    link: { link: id },
    reservableBitsPerSecond: BigInt(room),
    hardBitsPerSecond: BigInt(room * 1.2),
    leastFreeBitsPerSecond: BigInt(least),
    pieces: pieces.map(([start, end, free]) => ({ start: at(start), end: at(end), freeBitsPerSecond: BigInt(free) })),
  });
}

test("pieces are bars as high as what is booked, cut at the window", () => {
  const bars = barsOf(link("a", 100, 25, [-5, 2, 25], [2, 5, 100], [5, 20, 50], [11, 12, 1]), window);
  expect(bars.map((b) => [b.from, b.width, b.booked, b.beyond])).toEqual([
    [0, 0.2, 0.75, undefined],
    [0.2, 0.3, 0, undefined],
    [0.5, 0.5, 0.5, undefined],
  ]);
});

test.each([
  [-1, "soft"],
  [-20, "soft"],
  [-21, "hard"],
] as const)("a link with %i free of the soft cap is full, and beyond the %s one", (free, cap) => {
  expect(barsOf(link("a", 100, free, [0, 10, free]), window)[0]).toMatchObject({ booked: 1, beyond: cap });
});

test("a link without room for circuits is full, not beyond it", () => {
  expect(barsOf(link("a", 0, 0, [0, 10, 0]), window)[0]).toMatchObject({ booked: 1, beyond: undefined });
});

test("links with something booked come first, those with the least room first", () => {
  const links = [link("a", 100, 100), link("b", 100, 50), link("c", 1000, -1), link("d", 10, 5)];
  expect(bookedLinks(links).map((l) => l.link?.link)).toEqual(["c", "b", "d"]);
});

test("what covers a part of the window is cut at its ends, and open ends reach them", () => {
  expect(coverOf(at(2), at(4), window)).toEqual([0.2, 0.2]);
  expect(coverOf(at(-2), undefined, window)).toEqual([0, 1]);
  expect(coverOf(undefined, at(5), window)).toEqual([0, 0.5]);
  expect(coverOf(at(11), at(12), window)).toBeUndefined();
  expect(coverOf(at(-3), at(0), window)).toBeUndefined();
});

const utc = () => 0;

test("the axis has full hours of the local clock, at most eight", () => {
  expect(hourTicks({ from: millis(hour / 2), to: millis(6 * hour) }, utc)).toEqual(
    [1, 2, 3, 4, 5, 6].map((h) => h * hour),
  );
  const half = hourTicks({ from: millis(0), to: millis(24 * hour) }, () => 5.5 * hour);
  expect(half[0]).toBe(2.5 * hour);
  for (const hours of [1, 10, 24, 168, 2000])
    expect(hourTicks({ from: millis(0), to: millis(hours * hour) }, utc).length).toBeLessThanOrEqual(
      hours > 1000 ? 13 : 8,
    );
});

test.each([
  ["put back", 2, 1],
  ["put forward", 1, 2],
])("where the clock is %s, the days of a week begin at midnight before and after", (_name, before, after) => {
  const change = 50 * hour;
  const offset = (at: number) => (at < change ? before : after) * hour;
  const week = hourTicks({ from: millis(0), to: millis(168 * hour) }, offset);
  expect(week).toHaveLength(7);
  expect(week.map((t) => (t + offset(t)) % (24 * hour))).toEqual(week.map(() => 0));
  const day = hourTicks({ from: millis(38 * hour), to: millis(62 * hour) }, offset);
  expect(new Set(day).size).toBe(day.length);
  expect(day.every((t, i) => i === 0 || t > (day[i - 1] ?? 0))).toBe(true);
});

test("where the clock is put forward at midnight, the day has its tick at one o'clock", () => {
  const change = 46 * hour; // midnight, two hours east of UTC
  const offset = (at: number) => (at < change ? 2 : 3) * hour;
  const week = hourTicks({ from: millis(0), to: millis(168 * hour) }, offset).map((t) => (t + offset(t)) / hour);
  expect(week).toEqual([24, 49, 72, 96, 120, 144, 168]);
});
