// The alpha LSPs drawn over the map: those in force, from applied change sets,
// and those that a change set would add.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { RouterPlan } from "../gen/millrace/policy/v1/policy_pb";
import { type ChangeSet, type DeviceChange, DeviceState, State } from "../gen/millrace/push/v1/push_pb";
import { type Graph, plainAddress } from "./topology";

export interface LspOverlay {
  name: string;
  router: string;
  change: string;
  /** active: routers forward over it. planned: they will once the change set is approved. */
  status: "active" | "planned";
  /** Router ids from head to tail. */
  path: string[];
  /** The topology has no path along these hops, so that the LSP cannot be up. */
  broken: boolean;
  pairs: string[];
  queue: string;
  reason: string;
}

const ahead = new Set([State.DRAFT, State.PLANNED, State.APPROVED, State.APPLYING]);
const onRouter = new Set([DeviceState.APPLIED, DeviceState.CONFIRMED]);

/** Change sets in the order in which they were requested, newest first. */
const newestFirst = (changes: readonly ChangeSet[]) =>
  [...changes].sort(
    (a, b) => Number((b.created?.seconds ?? 0n) - (a.created?.seconds ?? 0n)) || b.id.localeCompare(a.id),
  );

/** When a router had its part, ms: a draft may wait, and reach it after one that was requested later. */
function reachedAt(c: ChangeSet, d: DeviceChange): number {
  const at = d.applied ?? c.created;
  return at ? timestampMs(at) : 0;
}

/**
 * A plan is all config of Millrace on a router, so that the one applied last
 * replaces those before it, also where it has no LSP.
 */
function plansInForce(changes: readonly ChangeSet[]): [string, RouterPlan][] {
  const plans = new Map<string, { at: number; of: [string, RouterPlan] }>();
  for (const c of newestFirst(changes.filter((c) => c.state !== State.ROLLED_BACK))) {
    for (const d of c.devices) {
      const at = reachedAt(c, d);
      if (!d.plan || !onRouter.has(d.state) || at <= (plans.get(d.device)?.at ?? -1)) continue;
      plans.set(d.device, { at, of: [c.id, d.plan] });
    }
  }
  return [...plans.values()].map((p) => p.of);
}

/** LSPs in force, then those the given change set would add. */
export function overlays(changes: readonly ChangeSet[], graph: Graph, preview: string | undefined): LspOverlay[] {
  const active = plansInForce(changes).flatMap(([id, plan]) => lspsOf(plan, id, "active", graph));
  const known = new Set(active.map(signature));
  const next = changes.find((c) => c.id === preview && ahead.has(c.state));
  const planned = (next?.devices ?? []).flatMap((d) =>
    d.plan ? lspsOf(d.plan, next?.id ?? "", "planned", graph) : [],
  );
  return [...active, ...planned.filter((l) => !known.has(signature(l)))];
}

const signature = (l: LspOverlay) => [l.router, l.name, ...l.path].join(" ");

function lspsOf(plan: RouterPlan, change: string, status: LspOverlay["status"], graph: Graph): LspOverlay[] {
  return plan.lsps.map((lsp) => {
    const rules = plan.rules.filter((r) => r.lsp === lsp.name);
    const hops = lsp.hops.length ? lsp.hops : [lsp.destination];
    return {
      name: lsp.name,
      router: plan.router,
      change,
      status,
      ...route(graph, plan.router, hops),
      pairs: [...new Set(rules.map((r) => r.pair))],
      queue: rules[0]?.queue ?? "",
      reason: lsp.reason,
    };
  });
}

/** Walks from the head over all hops; between hops that are not neighbours the IGP's shortest path counts. */
export function route(graph: Graph, head: string, hops: readonly string[]): { path: string[]; broken: boolean } {
  const start = graph.routers.find((r) => r.name === head || r.id === head);
  if (!start) return { path: [], broken: true };
  const path = [start.id];
  for (const hop of hops) {
    const target = graph.routers.find((r) => r.loopback === plainAddress(hop) || r.id === plainAddress(hop));
    const here = path.at(-1) as string;
    const leg = target && shortestPath(graph, here, target.id);
    if (!leg) return { path, broken: true };
    path.push(...leg.slice(1));
  }
  return { path, broken: false };
}

/** Dijkstra over the metrics of links that are up; ends included. */
export function shortestPath(graph: Graph, from: string, to: string): string[] | undefined {
  const cost = new Map([[from, 0]]);
  const previous = new Map<string, string>();
  const open = new Set([from]);
  while (open.size > 0) {
    const here = [...open].reduce((x, y) => ((cost.get(y) ?? 0) < (cost.get(x) ?? 0) ? y : x));
    open.delete(here);
    for (const edge of graph.edges) {
      if (!edge.up) continue;
      for (const direction of edge.directions) {
        const total = (cost.get(here) ?? 0) + direction.metric;
        if (direction.from !== here || total >= (cost.get(direction.to) ?? Infinity)) continue;
        cost.set(direction.to, total);
        previous.set(direction.to, here);
        open.add(direction.to);
      }
    }
  }
  if (!cost.has(to)) return undefined;
  const path = [to];
  for (let at = previous.get(to); at !== undefined; at = previous.get(at)) path.unshift(at);
  return path;
}
