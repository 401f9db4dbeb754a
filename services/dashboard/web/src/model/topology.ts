// The network as the map shows it: routers and the links between them with
// their loads, made from the link-state snapshot, telemetry streams and counters.
import type { Device } from "../gen/millrace/telemetry/v1/telemetry_pb";
import type { Link, Node, TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import { type CounterSeries, currentRate, queuesOf, rates, seriesKey } from "./counters";
import { type BitsPerSecond, bitsPerSecond, type Millis, type Share, share } from "./units";

/** unreachable: managed, but without telemetry or not in the link-state database. unmanaged: not in the inventory. */
export type RouterState = "up" | "unreachable" | "unmanaged";

export interface Router {
  /** OSPF router id, or the name where the link-state database has none. */
  id: string;
  name: string;
  state: RouterState;
  /** Why it is unreachable. */
  error: string;
  loopback: string;
  sidLabel: number;
  prefixes: string[];
}

export interface QueueLoad {
  name: string;
  rate: BitsPerSecond | undefined;
}

/** One direction of a link, from the router that sends. */
export interface Direction {
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

/** An adjacency with both its directions. With one alone it is down: OSPF uses no unidirectional link. */
export interface Edge {
  id: string;
  a: string;
  b: string;
  directions: Direction[];
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
  series: CounterSeries,
  now: Millis,
): Graph {
  const links = snapshot?.links ?? [];
  const directions = links.map((l) => directionOf(l, snapshot?.nodes ?? [], series, now));
  return { routers: routersOf(snapshot, devices), edges: pairDirections(links, directions) };
}

/** The routers of the link-state database and those of the inventory, by name. */
export function routersOf(snapshot: TopologySnapshot | undefined, devices: readonly Device[]): Router[] {
  const byName = new Map(devices.map((d) => [d.name, d]));
  const nodes = snapshot?.nodes ?? [];
  const seen = new Set(nodes.map((n) => n.name));
  const missing = devices.filter((d) => !seen.has(d.name));
  const routers = [...nodes.map((n) => routerOf(n, byName.get(n.name))), ...missing.map(missingRouter)];
  return routers.sort((x, y) => x.name.localeCompare(y.name, "en", { numeric: true }));
}

function routerOf(n: Node, device: Device | undefined): Router {
  const common = {
    id: n.routerId,
    loopback: plainAddress(n.loopback || n.routerId),
    sidLabel: n.sidLabel,
    prefixes: n.prefixes,
  };
  if (!n.name) return { ...common, name: n.routerId, state: "unmanaged", error: "" };
  if (device && !device.connected)
    return { ...common, name: n.name, state: "unreachable", error: device.error || "telemetry stream is down" };
  return { ...common, name: n.name, state: "up", error: "" };
}

/** A managed router that is not in the link-state database. */
function missingRouter(d: Device): Router {
  const error = d.connected ? "not in the link-state database" : d.error || "telemetry stream is down";
  return { id: d.name, name: d.name, state: "unreachable", error, loopback: "", sidLabel: 0, prefixes: [] };
}

/** 10.255.0.1/32 and 10.255.0.1 are the same loopback. */
export const plainAddress = (prefix: string) => prefix.replace(/\/(32|128)$/, "");

function directionOf(l: Link, nodes: readonly Node[], series: CounterSeries, now: Millis): Direction {
  const local = nodes.find((n) => n.routerId === l.localRouterId);
  const device = local?.name ?? "";
  const speed = local?.interfaces.find((i) => i.name === l.localInterface)?.speed ?? 0n;
  const capacity = bitsPerSecond(Number(l.maxBandwidth || speed));
  const of = (rate: BitsPerSecond | undefined) =>
    rate === undefined || capacity === 0 ? undefined : share(rate / capacity);
  const samples = series.get(seriesKey(device, { port: l.localInterface, leaf: "octets" })) ?? [];
  const rate = currentRate(samples, now);
  const queues = queuesOf(series, device, l.localInterface).map((queue) => ({
    name: queue,
    rate: currentRate(series.get(seriesKey(device, { port: l.localInterface, queue, leaf: "octets" })) ?? [], now),
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

/** Pairs the two directions of each adjacency by their addresses. */
function pairDirections(links: readonly Link[], directions: readonly Direction[]): Edge[] {
  const used = new Set<number>();
  const edges: Edge[] = [];
  links.forEach((l, i) => {
    if (used.has(i)) return;
    used.add(i);
    const back = links.findIndex((m, j) => !used.has(j) && opposite(l, m));
    if (back >= 0) used.add(back);
    const direction = directions[i] as Direction;
    const both = back >= 0 ? [direction, directions[back] as Direction] : [direction];
    edges.push({ id: l.id, a: direction.from, b: direction.to, directions: both, up: both.length === 2 });
  });
  return edges;
}

function opposite(l: Link, m: Link): boolean {
  if (l.localRouterId !== m.remoteRouterId || l.remoteRouterId !== m.localRouterId) return false;
  return !l.remoteAddress || !m.localAddress || l.remoteAddress === m.localAddress;
}

/** All link directions, highest load first. */
export function busiest(graph: Graph): Direction[] {
  return graph.edges
    .flatMap((e) => e.directions)
    .sort((x, y) => (y.load ?? -1) - (x.load ?? -1) || x.id.localeCompare(y.id));
}

/** The map in one line, for screen readers. */
export function describeGraph(graph: Graph): string {
  const unreachable = graph.routers.filter((r) => r.state === "unreachable");
  const down = graph.edges.filter((e) => !e.up);
  const parts = [`${graph.routers.length} routers, ${graph.edges.length} links`];
  if (unreachable.length) parts.push(`unreachable: ${unreachable.map((r) => r.name).join(", ")}`);
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
