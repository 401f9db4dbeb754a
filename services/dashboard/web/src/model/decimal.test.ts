import { describe, expect, test } from "vitest";
import { scaledDown, scaledUp } from "./decimal";

describe("numbers", () => {
  test.each<[string, number, bigint | undefined]>([
    ["5", 6, 5_000_000n],
    [" 2.5 ", 9, 2_500_000_000n],
    ["2,5", 9, 2_500_000_000n],
    ["0.1", 6, 100_000n],
    ["1.000", 0, 1n],
    ["0.0000001", 6, undefined],
    ["1e3", 6, undefined],
    ["-1", 6, undefined],
    ["1 000", 6, undefined],
    ["9007199254740993", 3, 9_007_199_254_740_993_000n],
  ])("%s times ten to the power of %i is exact", (text, power, want) => {
    expect(scaledUp(text, power)).toBe(want);
  });

  test("come out as they went in", () => {
    for (const n of [0n, 1n, 999n, 1_000_000n, 1_234_567_891n, 9_007_199_254_740_993n])
      for (const power of [0, 3, 9]) expect(scaledUp(scaledDown(n, power), power)).toBe(n);
  });
});
