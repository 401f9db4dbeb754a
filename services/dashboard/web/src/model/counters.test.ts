import { describe, expect, test } from "vitest";
import { appendSamples, counterName, currentRate, historySpan, rates, type Sample, staleAfter } from "./counters";
import { millis } from "./units";

/** Readings written as "second=octets …". */
const samples = (points: string): Sample[] =>
  points.split(" ").flatMap((p) => {
    const [second, octets] = p.split("=");
    return octets ? [{ time: millis(Number(second) * 1000), octets: BigInt(octets) }] : [];
  });

describe("currentRate", () => {
  test.each<[string, string, number, number | undefined]>([
    ["needs two readings", "0=1000", 0, undefined],
    ["has none before the first reading", "", 0, undefined],
    ["is octets times eight over seconds", "0=0 1=125000", 1, 1_000_000],
    ["averages readings less than five seconds apart", "0=0 1=1000 2=1000 3=3000", 3, 8000],
    ["forgets what is older than that", "0=0 10=900000 12=900000 14=902000", 14, 4000],
    ["takes the last interval when readings are far apart", "0=0 10=1000 20=11000", 20, 8000],
    ["starts afresh after a counter reset", "0=5000000 1=6000000 2=100 3=1100", 3, 8000],
    ["is unknown right after a reset", "0=5000000 1=100", 1, undefined],
    ["is nothing while a counter stands still", "0=7 2=7", 2, 0],
    ["is unknown once the router went silent", "0=0 1=125000", 2 + staleAfter / 1000, undefined],
  ])("%s", (_name, points, now, want) => {
    expect(currentRate(samples(points), millis(now * 1000))).toBe(want);
  });

  test("keeps precision where the counter exceeds what a double holds", () => {
    const big = 2n ** 63n;
    const s = [
      { time: millis(0), octets: big },
      { time: millis(1000), octets: big + 125n },
    ];
    expect(currentRate(s, millis(1000))).toBe(1000);
  });
});

test("rates leave a gap where the counter went backwards", () => {
  expect(rates(samples("0=0 1=125 2=25 3=150")).map((r) => r.rate)).toEqual([1000, undefined, 1000]);
});

describe("appendSamples", () => {
  test("takes overlapping and unordered answers once", () => {
    const got = appendSamples(samples("0=0 1=10"), samples("2=20 1=10"));
    expect(got).toEqual(samples("0=0 1=10 2=20"));
  });
  test("drops readings older than the window", () => {
    const s = historySpan / 1000;
    expect(appendSamples(samples("0=0 1=1"), samples(`${s + 1}=2`))).toEqual(samples(`1=1 ${s + 1}=2`));
  });
});

test.each([
  ["/interfaces/interface[name=ge-er]/state/counters/out-octets", { port: "ge-er", leaf: "octets" }],
  ["/interfaces/interface[name=ge-er]/state/counters/in-octets", undefined],
  [
    "/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=alpha]/state/transmit-octets",
    { port: "ge-er", queue: "alpha", leaf: "octets" },
  ],
  [
    "/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=alpha]/state/dropped-pkts",
    { port: "ge-er", queue: "alpha", leaf: "drops" },
  ],
])("path %s", (path, want) => {
  expect(counterName(path)).toEqual(want);
});
