import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { TelemetryResponseSchema } from "../gen/millrace/flow/v1/flow_pb";
import { currentRate, historySpan, seriesKey } from "../model/counters";
import { millis } from "../model/units";
import { CounterReader } from "./telemetry";

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => void vi.useRealTimers());

type Telemetry = Api["store"]["telemetry"];
type Time = Parameters<typeof timestampMs>[0];

/** A store of routers that count a megabyte a second, each by its own clock; and how far back it is asked. */
function store(ahead: Record<string, number>) {
  const began = Date.now() - historySpan;
  const back: number[] = [];
  const telemetry: Telemetry = async ({ pathPrefix, from, to }) => {
    const [first, last] = [timestampMs(from as Time), timestampMs(to as Time)];
    back.push(Date.now() - first);
    const points = (by: number) => {
      const all = [];
      for (let at = began; at <= Date.now(); at += 1000)
        if (at + by >= first && at + by <= last)
          all.push({ time: timestampFromMs(at + by), value: BigInt(at - began) * 1000n });
      return all;
    };
    const path = "/interfaces/interface[name=eth0]/state/counters/out-octets";
    const series = Object.entries(ahead).map(([device, by]) => ({ device, path, points: points(by) }));
    return create(TelemetryResponseSchema, { series: pathPrefix === "/interfaces" ? series : [] });
  };
  return { back, api: { telemetry } };
}

test("a router whose clock is ahead takes no other router's load away", async () => {
  const { back, api } = store({ fast: 30_000, right: 0 });
  const reader = new CounterReader(api);
  const signal = new AbortController().signal;
  let series = await reader.read(signal);
  for (let i = 0; i < 15; i++) {
    vi.advanceTimersByTime(2000);
    series = await reader.read(signal);
  }
  const rateOf = (device: string) =>
    currentRate(series.get(seriesKey(device, { port: "eth0", leaf: "octets" })) ?? [], millis(Date.now()));
  expect([rateOf("fast"), rateOf("right")]).toEqual([8_000_000, 8_000_000]);
  expect(back[0]).toBe(historySpan);
  expect(Math.max(...back.slice(2))).toBeLessThan(historySpan / 4); // only newer readings are requested
});
