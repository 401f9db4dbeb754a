import { expect, test } from "vitest";
import {
  bitsPerSecond,
  formatAgo,
  formatBytes,
  formatRate,
  formatShare,
  formatSpan,
  formatUntil,
  millis,
  share,
} from "./units";

test.each([
  [0, "0 bit/s"],
  [812, "812 bit/s"],
  [999.6, "1.00 kbit/s"],
  [94_600_000, "94.6 Mbit/s"],
  [100_000_000, "100 Mbit/s"],
  [9_999_000_000, "10.0 Gbit/s"],
])("a rate of %d bit/s reads %s", (n, want) => {
  expect(formatRate(bitsPerSecond(n))).toBe(want);
});

test("bytes may be larger than a double counts exactly", () => {
  expect(formatBytes(18_446_744_073_709_551_615n)).toBe("18447 PB");
});

test("a share that is not quite nothing does not read as nothing", () => {
  expect(formatShare(share(0))).toBe("0 %");
  expect(formatShare(share(0.001))).toBe("< 1 %");
  expect(formatShare(share(0.0431), 1)).toBe("4.3 %");
});

test.each([
  [400, "0 s"],
  [61_000, "1 min 1 s"],
  [720_000, "12 min"],
  [93_600_000, "1 d 2 h"],
])("%d ms reads %s", (ms, want) => {
  expect(formatSpan(ms)).toBe(want);
});

test("ages keep one unit", () => {
  expect(formatAgo(millis(0), millis(3_700_000))).toBe("1 h ago");
  expect(formatAgo(millis(0), millis(900))).toBe("now");
});

test("times to come keep one unit too", () => {
  expect(formatUntil(millis(3_700_000), millis(0))).toBe("in 1 h");
  expect(formatUntil(millis(0), millis(1))).toBe("now");
});
