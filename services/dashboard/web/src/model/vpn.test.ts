import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { VpnSeriesResponseSchema } from "../gen/millrace/flow/v1/flow_pb";
import { type Flow, FlowSchema, PeSchema, WeightsResponseSchema } from "../gen/millrace/vpn/v1/vpn_pb";
import {
  addSeries,
  drawn,
  emptyVpnSeries,
  flowKey,
  found,
  mostLines,
  newestOf,
  pairText,
  peState,
  phaseText,
  vpnSpan,
  weightConcerns,
  weightList,
} from "./vpn";

const t0 = 1_800_000_000_000;

/** An answer of the store: rates of flows "vpn in out" by second. */
function answer(flows: Record<string, Record<number, number>>, fairness: Record<number, number> = {}) {
  return create(VpnSeriesResponseSchema, {
    flows: Object.entries(flows).map(([name, points]) => {
      const [vpn = "", ingress = "", egress = ""] = name.split(" ");
      return {
        vpn,
        ingress,
        egress,
        points: Object.entries(points).map(([s, throughput]) => ({
          time: timestampFromMs(t0 + Number(s) * 1000),
          throughput,
          fairShare: throughput / 2,
        })),
      };
    }),
    fairness: Object.entries(fairness).map(([s, f]) => ({ time: timestampFromMs(t0 + Number(s) * 1000), fairness: f })),
  });
}

const flow = (vpn: string, throughput: number, part: Partial<Flow> = {}) =>
  create(FlowSchema, { vpn, ingress: "a", egress: "b", throughput, phase: "congestion-avoidance", ...part } as Flow);

test("answers that overlap are one history, in the order of time", () => {
  let series = addSeries(emptyVpnSeries, answer({ "red a b": { 2: 20, 1: 10 } }, { 1: 0.9, 2: 0.8 }));
  series = addSeries(series, answer({ "red a b": { 2: 21, 3: 30 }, "blue a b": { 3: 5 } }, { 3: 1 }));
  expect(series.flows.get("red a b")?.map((r) => [r.time - t0, r.throughput, r.share])).toEqual([
    [1000, 10, 5],
    [2000, 21, 10.5],
    [3000, 30, 15],
  ]);
  expect(series.fairness.map((r) => r.fairness)).toEqual([0.9, 0.8, 1]);
  expect(newestOf(series)).toBe(t0 + 3000);
  expect(newestOf(emptyVpnSeries)).toBeUndefined();
});

test("a flow that is measured no more leaves the window with its last reading", () => {
  const end = vpnSpan / 1000;
  let series = addSeries(emptyVpnSeries, answer({ "red a b": { 0: 1 }, "blue a b": { 1: 1 } }, { 1: 1 }));
  series = addSeries(series, answer({ "blue a b": { [end + 1]: 2 } }, { [end + 1]: 1 }));
  expect([...series.flows.keys()]).toEqual(["blue a b"]);
  series = addSeries(series, answer({}, { [2 * end + 2]: 1 }));
  expect(series.flows.size).toBe(0);
});

test("what is older than the window is forgotten", () => {
  const series = addSeries(
    addSeries(emptyVpnSeries, answer({ "red a b": { 0: 1 } })),
    answer({ "red a b": { [vpnSpan / 1000 + 1]: 2 } }),
  );
  expect(series.flows.get("red a b")?.map((r) => r.throughput)).toEqual([2]);
});

test("drawn are those that send most, in an order that stands still", () => {
  const many = Array.from({ length: 12 }, (_, i) => flow(`vpn${i + 1}`, 100 - i));
  const series = addSeries(
    emptyVpnSeries,
    answer(Object.fromEntries(many.map((f) => [flowKey(f), { 1: f.throughput }]))),
  );
  const names = (list: Flow[]) => list.map((f) => f.vpn);
  expect(names(drawn(many, series, undefined))).toEqual(many.slice(0, mostLines).map((f) => f.vpn));
  expect(names(drawn([...many].reverse(), series, undefined))).toEqual(many.slice(0, mostLines).map((f) => f.vpn));
  expect(names(drawn(many, series, "vpn12"))).toEqual(["vpn12"]);
  expect(drawn(many, emptyVpnSeries, undefined)).toEqual([]);
});

test("a search finds VPNs, PEs and states", () => {
  const flows = [
    flow("red", 1, { ingressPe: "pe1", egressPe: "pe2" }),
    flow("red", 1, { ingress: "b", egress: "a", ingressPe: "pe2", egressPe: "pe1", phase: "no-feedback" }),
    flow("blue", 1),
  ];
  const hits = (search: string) => found(flows, search).map((f) => `${f.vpn} ${pairText(f)}`);
  expect(hits("")).toEqual(["blue a → b", "red pe1 → pe2", "red pe2 → pe1"]);
  expect(hits("RED uncontrolled")).toEqual(["red pe2 → pe1"]);
  expect(hits("green")).toEqual([]);
  expect(flows.map(phaseText)).toEqual(["congestion-avoidance", "uncontrolled", "congestion-avoidance"]);
});

test.each([
  ["unreachable", { connected: false, current: true }, true],
  ["up to date", { connected: true, current: true }, true],
  ["updating", { connected: true }, true],
  ["refused", { connected: true, error: "disk full" }, true],
  ["connected", { connected: true }, false],
])("a PE %s", (want, pe, inForce) => {
  expect(peState(create(PeSchema, pe), inForce).text).toBe(want);
});

test("weights read short, and what is wrong with them is said", () => {
  const w = create(WeightsResponseSchema, {
    weights: [
      { vpn: "red", weight: 7 / 3 },
      { vpn: "blue", weight: 1 },
    ],
    policies: [{ file: "a.yaml" }, { file: "b.yaml", error: "weight 0" }],
    unknown: ["rad"],
  });
  expect(weightList(w.weights)).toBe("red 2.333, blue 1");
  expect(weightConcerns(w)).toEqual(["b.yaml: weight 0", "no PE has a VPN called rad"]);
});
