// The network as the map shows it: routers and the links between them with
// their loads, made from the link-state snapshot, telemetry streams and counters.
import type { Device } from "../gen/millrace/telemetry/v1/telemetry_pb";
import type { Link, Node, TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import { bookKey, type CounterBook, currentRate, queuesOf, rates } from "./counters";
import { type BitsPerSecond, bitsPerSecond, type Millis, type Share, share } from "./units";

/** dark: its telemetry stream is down, so nothing is known of it. foreign: not in the inventory. */
export type RouterState = "up" | "dark" | "foreign";

export interface Router {
  /** OSPF router id, or the name where the link-state database has none. */
  id: string;
  name: string;
  state: RouterState;
  /** Why it is dark. */
  error: string;
  loopback: string;
  sidLabel: number;
  prefixes: string[];
}

export interface QueueLoad {
  name: string;
  rate: BitsPerSecond | undefined;
}

/** One direction of a link. */
export interface Lane {
  id: string;
  from: string;
  to: string;
  port: string;
  metric: number;
  capacity: BitsPerSecond;
  rate: BitsPerSecond | undefined;
  load: Share | undefined;
  /** Load over time for the sparkline; undefined where it is not known. */
  trend: (Share | undefined)[];
  queues: QueueLoad[];
}

/** An adjacency: one lane, or two that go opposite ways. A single lane carries nothing (OSPF uses no one-way link). */
export interface Edge {
  id: string;
  a: string;
  b: string;
  lanes: Lane[];
  up: boolean;
}

export interface Graph {
  routers: Router[];
  edges: Edge[];
}

export type LoadLevel = "unknown" | "low" | "middle" | "high";

export function loadLevel(load: Share | undefined): LoadLevel {
  if (load === undefined) return "unknown";
  return load >= 0.8 ? "high" : load >= 0.5 ? "middle" : "low";
}

export function buildGraph(
  snapshot: TopologySnapshot | undefined,
  devices: readonly Device[],
  book: CounterBook,
  now: Millis,
): Graph {
  const byName = new Map(devices.map((d) => [d.name, d]));
  const nodes = snapshot?.nodes ?? [];
  const routers = nodes.map((n) => routerOf(n, byName.get(n.name)));
  const seen = new Set(nodes.map((n) => n.name));
  for (const d of devices) {
    if (!seen.has(d.name)) routers.push(lostRouter(d));
  }
  routers.sort((x, y) => x.name.localeCompare(y.name, "en", { numeric: true }));
  const lanes = (snapshot?.links ?? []).map((l) => laneOf(l, nodes, book, now));
  return { routers, edges: pairLanes(snapshot?.links ?? [], lanes) };
}

function routerOf(n: Node, device: Device | undefined): Router {
  const common = {
    id: n.routerId,
    loopback: plainAddress(n.loopback || n.routerId),
    sidLabel: n.sidLabel,
    prefixes: n.prefixes,
  };
  if (!n.name) return { ...common, name: n.routerId, state: "foreign", error: "" };
  if (device && !device.connected)
    return { ...common, name: n.name, state: "dark", error: device.error || "telemetry stream is down" };
  return { ...common, name: n.name, state: "up", error: "" };
}

/** A managed router that the link-state database does not hold (any more). */
function lostRouter(d: Device): Router {
  const error = d.connected ? "not in the link-state database" : d.error || "telemetry stream is down";
  return { id: d.name, name: d.name, state: "dark", error, loopback: "", sidLabel: 0, prefixes: [] };
}

/** 10.255.0.1/32 and 10.255.0.1 are the same loopback. */
export const plainAddress = (prefix: string) => prefix.replace(/\/(32|128)$/, "");

function laneOf(l: Link, nodes: readonly Node[], book: CounterBook, now: Millis): Lane {
  const local = nodes.find((n) => n.routerId === l.localRouterId);
  const device = local?.name ?? "";
  const speed = local?.interfaces.find((i) => i.name === l.localInterface)?.speed ?? 0n;
  const capacity = bitsPerSecond(Number(l.maxBandwidth || speed));
  const of = (rate: BitsPerSecond | undefined) =>
    rate === undefined || capacity === 0 ? undefined : share(rate / capacity);
  const samples = book.get(bookKey(device, { port: l.localInterface, leaf: "octets" })) ?? [];
  const rate = currentRate(samples, now);
  const queues = queuesOf(book, device, l.localInterface).map((queue) => ({
    name: queue,
    rate: currentRate(book.get(bookKey(device, { port: l.localInterface, queue, leaf: "octets" })) ?? [], now),
  }));
  return {
    id: l.id,
    from: l.localRouterId,
    to: l.remoteRouterId,
    port: l.localInterface || l.localAddress,
    metric: l.igpMetric,
    capacity,
    rate,
    load: of(rate),
    trend: rates(samples).map((r) => of(r.rate)),
    queues,
  };
}

/** Joins the two directions of each adjacency by their addresses. */
function pairLanes(links: readonly Link[], lanes: readonly Lane[]): Edge[] {
  const used = new Set<number>();
  const edges: Edge[] = [];
  links.forEach((l, i) => {
    if (used.has(i)) return;
    used.add(i);
    const back = links.findIndex((m, j) => !used.has(j) && opposite(l, m));
    if (back >= 0) used.add(back);
    const lane = lanes[i] as Lane;
    const both = back >= 0 ? [lane, lanes[back] as Lane] : [lane];
    edges.push({ id: l.id, a: lane.from, b: lane.to, lanes: both, up: both.length === 2 });
  });
  return edges;
}

function opposite(l: Link, m: Link): boolean {
  if (l.localRouterId !== m.remoteRouterId || l.remoteRouterId !== m.localRouterId) return false;
  return !l.remoteAddress || !m.localAddress || l.remoteAddress === m.localAddress;
}

/** Lanes the IGP would use, busiest first. */
export function busiest(graph: Graph): Lane[] {
  return graph.edges
    .flatMap((e) => e.lanes)
    .sort((x, y) => (y.load ?? -1) - (x.load ?? -1) || x.id.localeCompare(y.id));
}

/** One line for people who cannot see the map. */
export function describeGraph(graph: Graph): string {
  const dark = graph.routers.filter((r) => r.state === "dark");
  const down = graph.edges.filter((e) => !e.up);
  const parts = [`${graph.routers.length} routers, ${graph.edges.length} links`];
  if (dark.length) parts.push(`no telemetry from ${dark.map((r) => r.name).join(", ")}`);
  if (down.length) parts.push(`${down.length} links down`);
  return `${parts.join("; ")}.`;
}

/** Name of the router that has an address, or the address itself. */
export function nameOfAddress(snapshot: TopologySnapshot | undefined, address: string): string {
  const has = (n: Node) =>
    n.routerId === address ||
    plainAddress(n.loopback) === address ||
    n.interfaces.some((i) => i.addresses.some((a) => a.replace(/\/\d+$/, "") === address));
  return snapshot?.nodes.find(has)?.name || address;
}
