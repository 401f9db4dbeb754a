import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { VpnSeriesResponseSchema } from "../gen/millrace/flow/v1/flow_pb";
import { vpnSpan } from "../model/vpn";
import { VpnReader } from "./vpnReader";

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));
afterEach(() => void vi.useRealTimers());

type Series = Api["store"]["vpnSeries"];

/** A store with one reading of one flow, now, and the requests it got. */
function store() {
  const asked: { vpn: string | undefined; back: number }[] = [];
  const vpnSeries: Series = async (request) => {
    const from = request.from ? timestampMs(request.from as Parameters<typeof timestampMs>[0]) : 0;
    asked.push({ vpn: request.vpn, back: Date.now() - from });
    const at = timestampFromMs(Date.now());
    return create(VpnSeriesResponseSchema, {
      flows: [{ vpn: request.vpn || "red", ingress: "a", egress: "b", points: [{ time: at, throughput: 1 }] }],
      fairness: [{ time: at, fairness: 1 }],
    });
  };
  return { asked, api: { vpnSeries } };
}

test("only newer samples are requested, and the whole history after another selection", async () => {
  const s = store();
  const r = new VpnReader(s.api);
  const signal = new AbortController().signal;
  await r.read(signal);
  vi.advanceTimersByTime(1000);
  await r.read(signal);
  expect(r.select("blue")).toBe(true);
  expect(r.select("blue")).toBe(false);
  const series = await r.read(signal);
  expect(s.asked).toEqual([
    { vpn: "", back: vpnSpan },
    { vpn: "", back: 6000 },
    { vpn: "blue", back: vpnSpan },
  ]);
  expect([...series.flows.keys()]).toEqual(["blue a b"]);
});
