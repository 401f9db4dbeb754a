import { expect, test } from "vitest";
import { staleAfter } from "../model/counters";
import { millis } from "../model/units";
import { shown } from "./TimeChart";

const now = millis(1_800_000_000_000);
const ago = (ms: number) => ({ time: millis(now - ms) });

test("a legend has the reading under the pointer, else the newest while that is one of now", () => {
  const readings = [ago(60_000), ago(59_000), ago(1000)];
  expect(shown(readings, undefined, now)).toBe(readings[2]);
  expect(shown(readings, millis(now - 59_400), now)).toBe(readings[1]);
  expect(shown([ago(staleAfter)], undefined, now)).toBeDefined();
  expect(shown([ago(staleAfter + 1)], undefined, now)).toBeUndefined();
  expect(shown([], undefined, now)).toBeUndefined();
});
