import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { EffectivenessDaySchema } from "../gen/millrace/alpha/v1/alpha_pb";
import { caughtInAll, caughtOver, spanOver } from "./effectiveness";
import { millis } from "./units";

const day = (n: number, alpha: number, under24: number, under32: number) =>
  create(EffectivenessDaySchema, {
    day: timestampFromMs(Date.UTC(2026, 0, n)),
    alphaBytes: BigInt(alpha),
    caught24Bytes: BigInt(under24),
    caught32Bytes: BigInt(under32),
  });

test("shares are by day, without days that had no alpha bytes", () => {
  const caught = caughtOver([day(1, 10, 9, 5), day(2, 0, 0, 0), day(3, 4, 4, 0)]);
  expect(caught).toEqual([
    { time: Date.UTC(2026, 0, 1), bytes: 10, under24: 0.9, under32: 0.5 },
    { time: Date.UTC(2026, 0, 3), bytes: 4, under24: 1, under32: 0 },
  ]);
  expect(spanOver(caught, millis(Date.UTC(2026, 0, 4)))).toBe(4 * 24 * 3_600_000);
});

test("many days are summed up by month, by bytes", () => {
  const days = Array.from({ length: 93 }, (_, i) => day(i + 1, i === 0 ? 300 : 10, i === 0 ? 0 : 10, 0));
  const caught = caughtOver(days);
  expect(caught.map((c) => [new Date(c.time).toISOString().slice(0, 7), c.bytes])).toEqual([
    ["2026-01", 600],
    ["2026-02", 280],
    ["2026-03", 310],
    ["2026-04", 30],
  ]);
  expect(caught.map((c) => c.under24)).toEqual([0.5, 1, 1, 1]);
});

test("all of it is summed up by bytes", () => {
  expect(caughtInAll([day(1, 90, 90, 9), day(2, 10, 0, 0)])).toMatchObject({ bytes: 100, under24: 0.9, under32: 0.09 });
  expect(caughtInAll([])).toMatchObject({ bytes: 0, under24: 0, under32: 0 });
});
