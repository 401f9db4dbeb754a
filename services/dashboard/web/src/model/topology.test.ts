import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DeviceSchema } from "../gen/millrace/telemetry/v1/telemetry_pb";
import { type CounterSeries, seriesKey } from "./counters";
import { network } from "./testing";
import { buildGraph, busiest, describeGraph, loadLevel, nameOfAddress } from "./topology";
import { millis, share } from "./units";

const device = (name: string, connected: boolean, error = "") => create(DeviceSchema, { name, connected, error });
const now = millis(2000);

/** A series in which one port sent so many bit/s over the last two seconds. */
function sent(name: string, port: string, bits: number): CounterSeries {
  const samples = [
    { time: millis(0), octets: 0n },
    { time: millis(2000), octets: BigInt(bits / 4) },
  ];
  return new Map([[seriesKey(name, { port, leaf: "octets" }), samples]]);
}

test("the two directions of an adjacency become one edge with a load each", () => {
  const graph = buildGraph(network("WR-ER"), [], sent("WR", "to-ER-0", 40_000_000), now);
  expect(graph.edges.length).toBe(1);
  expect(graph.edges[0]?.directions.map((l) => [l.port, l.rate, l.load])).toEqual([
    ["to-ER-0", 40_000_000, 0.4],
    ["to-WR-0", undefined, undefined],
  ]);
});

test("parallel links are kept apart by their addresses", () => {
  const graph = buildGraph(network("A-B A-B"), [], new Map(), now);
  expect(graph.edges.map((e) => e.directions.map((l) => l.port))).toEqual([
    ["to-B-0", "to-A-0"],
    ["to-B-1", "to-A-1"],
  ]);
});

test("a link that only one side announces is down", () => {
  const graph = buildGraph(network("A-B B>C"), [], new Map(), now);
  expect(graph.edges.map((e) => e.up)).toEqual([true, false]);
  expect(describeGraph(graph)).toBe("3 routers, 2 links; 1 links down.");
});

test("routers are unreachable when their stream is down or the link-state database does not have them", () => {
  const devices = [
    device("A", true),
    device("B", false, "connection refused"),
    device("C", true),
    device("D", false, "no route to host"),
  ];
  const graph = buildGraph(network("A-B"), devices, new Map(), now);
  expect(graph.routers.map((r) => [r.name, r.state, r.error])).toEqual([
    ["A", "up", ""],
    ["B", "unreachable", "connection refused"],
    ["C", "unreachable", "not in the link-state database"],
    ["D", "unreachable", "no route to host"],
  ]);
});

test("a router without a name is unmanaged and shown by its id", () => {
  const snapshot = network("A-B");
  const [, b] = snapshot.nodes;
  if (b) b.name = "";
  const graph = buildGraph(snapshot, [device("A", true)], new Map(), now);
  expect(graph.routers.map((r) => [r.name, r.state])).toEqual([
    ["10.255.0.2", "unmanaged"],
    ["A", "up"],
  ]);
});

test("without a bandwidth the interface's speed counts, and without either there is no load", () => {
  const snapshot = network("A-B");
  for (const l of snapshot.links) l.maxBandwidth = 0n;
  const series = sent("A", "to-B-0", 5_000_000);
  expect(buildGraph(snapshot, [], series, now).edges[0]?.directions[0]?.load).toBeUndefined();
  const port = {
    $typeName: "millrace.topology.v1.Interface" as const,
    ifindex: 2,
    addresses: ["10.0.0.1/30"],
    up: true,
  };
  snapshot.nodes[0]?.interfaces.push({ ...port, name: "to-B-0", speed: 10_000_000n });
  expect(buildGraph(snapshot, [], series, now).edges[0]?.directions[0]?.load).toBe(0.5);
  expect(nameOfAddress(snapshot, "10.0.0.1")).toBe("A");
  expect(nameOfAddress(snapshot, "10.255.0.2")).toBe("B");
  expect(nameOfAddress(snapshot, "192.0.2.1")).toBe("192.0.2.1");
});

test("the table starts with the busiest direction and ends with the unknown ones", () => {
  const series = new Map([...sent("B", "to-C-1", 9_000_000), ...sent("A", "to-B-0", 4_000_000)]);
  const directions = busiest(buildGraph(network("A-B B-C"), [], series, now));
  expect(directions.map((l) => l.port)).toEqual(["to-C-1", "to-B-0", "to-A-0", "to-B-1"]);
});

test("queues of a port are not mixed up with those of a port whose name starts alike", () => {
  const samples = [
    { time: millis(0), octets: 0n },
    { time: millis(2000), octets: 250n },
  ];
  const series: CounterSeries = new Map([
    [seriesKey("A", { port: "to-B-0", queue: "alpha", leaf: "octets" }), samples],
    [seriesKey("A", { port: "to-B-01", queue: "beta", leaf: "octets" }), samples],
  ]);
  expect(buildGraph(network("A-B"), [], series, now).edges[0]?.directions[0]?.queues).toEqual([
    { name: "alpha", rate: 1000 },
  ]);
});

test.each([
  [undefined, "unknown"],
  [0.49, "low"],
  [0.5, "middle"],
  [0.8, "high"],
  [1.02, "high"],
])("a load of %s is %s", (load, want) => {
  expect(loadLevel(load === undefined ? undefined : share(load))).toBe(want);
});

test("before the first answer there is nothing", () => {
  expect(buildGraph(undefined, [], new Map(), now)).toEqual({ routers: [], edges: [] });
});
