import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { CircuitSchema, UsageResponseSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { bookedRate, usageText, usageTrend } from "./circuitUsage";
import { millis } from "./units";

const now = millis(100 * 3_600_000 + 30_000);
const minute = (ago: number, inProfileOctets: bigint, excessOctets = 0n) => ({
  time: timestampFromMs(100 * 3_600_000 - ago * 60_000),
  inProfileOctets,
  excessOctets,
});
const usage = (...points: ReturnType<typeof minute>[]) =>
  create(UsageResponseSchema, {
    stepSeconds: 60n,
    points,
    total: {
      inProfileOctets: points.reduce((n, p) => n + p.inProfileOctets, 0n),
      excessOctets: points.reduce((n, p) => n + p.excessOctets, 0n),
    },
  });

test("the rate is the highest that is booked", () => {
  expect(bookedRate(create(CircuitSchema, { slots: [{ rateBitsPerSecond: 2n }, { rateBitsPerSecond: 7n }] }))).toBe(7);
  expect(bookedRate(create(CircuitSchema, {}))).toBe(0);
});

describe("the trend of the last hour", () => {
  test("has a place for each minute, the newest last, and none for what no router said", () => {
    const trend = usageTrend(
      usage(minute(100, 1n), minute(59, 3_750n), minute(1, 7_500n, 7_500n), minute(0, 750n)),
      1000,
      now,
    );
    expect(trend).toHaveLength(60);
    expect([trend[0], trend[1], trend.at(-2), trend.at(-1)]).toEqual([0.5, undefined, 2, 0.1]);
  });
  test("is empty without a rate", () => {
    expect(usageTrend(usage(minute(1, 1n)), 0, now)).toEqual([]);
  });
});

test("words are about the last minute that is over", () => {
  expect(usageText(usage(), 1000, now)).toBeUndefined();
  expect(usageText(usage(minute(1, 7_500_000n), minute(0, 75n)), 2_000_000, now)).toBe(
    "1.00 Mbit/s of 2.00 Mbit/s; 7.50 MB in the last hour",
  );
  expect(usageText(usage(minute(0, 7_500_000n, 7_500_000n)), 1_000_000, now)).toBe(
    "2.00 Mbit/s of 1.00 Mbit/s; 15.0 MB in the last hour, 7.50 MB of it above the rate",
  );
});

test("a rate of long ago is none of now", () => {
  const silent = usage(minute(41, 7_500_000n), minute(40, 75n));
  expect(usageText(silent, 2_000_000, now)).toBe("no counts for 40 min; 7.50 MB in the last hour");
  const late = usage(minute(4, 7_500_000n), minute(3, 75n));
  expect(usageText(late, 2_000_000, now)).toBe("1.00 Mbit/s of 2.00 Mbit/s; 7.50 MB in the last hour");
});

test("a circuit of no guaranteed rate is not measured by one", () => {
  const scavenger = bookedRate(create(CircuitSchema, { slots: [{ rateBitsPerSecond: 1n }] }));
  expect(scavenger).toBe(0);
  const sent = usage(minute(1, 0n, 7_500_000n), minute(0, 0n));
  expect(usageText(sent, scavenger, now)).toBe("1.00 Mbit/s; 7.50 MB in the last hour");
});

describe("between ports", () => {
  const step = (ago: number, inProfileOctets: bigint, returnOctets: bigint) => ({
    time: timestampFromMs(100 * 3_600_000 - ago * 60_000),
    inProfileOctets,
    returnOctets,
  });
  const both = create(UsageResponseSchema, {
    stepSeconds: 60n,
    betweenPorts: true,
    points: [step(1, 7_500n, 3_750n), step(0, 0n, 750n)],
    total: { inProfileOctets: 7_500n, returnOctets: 4_500n },
  });
  test("each direction has a trend of its own", () => {
    expect(usageTrend(both, 1000, now).slice(-2)).toEqual([1, 0]);
    expect(usageTrend(both, 1000, now, "back").slice(-2)).toEqual([0.5, 0.1]);
  });
  test("and words", () => {
    expect(usageText(both, 1000, now)).toBe("1.00 kbit/s of 1.00 kbit/s; 7.50 kB in the last hour");
    expect(usageText({ ...both, carriedUnknown: true }, 1000, now, "back")).toBe(
      "500 bit/s of 1.00 kbit/s; 4.50 kB in the last hour; one port has no counts",
    );
  });
});
