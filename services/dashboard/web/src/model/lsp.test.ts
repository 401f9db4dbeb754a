import { describe, expect, test } from "vitest";
import { DeviceState, State } from "../gen/millrace/push/v1/push_pb";
import { overlays, route, shortestPath } from "./lsp";
import { changeSet, loopback, network } from "./testing";
import { buildGraph } from "./topology";
import { millis } from "./units";

const graphOf = (text: string) => buildGraph(network(text), [], new Map(), millis(0));
// WR is .1, ER .2, CR .3
const testbed = graphOf("WR-ER WR-CR CR-ER");
const [wr, er, cr] = [loopback(0), loopback(1), loopback(2)];
const overCr = { "te-1": [cr, er] };

describe("overlays", () => {
  const brief = (list: ReturnType<typeof overlays>) => list.map((l) => [l.name, l.change, l.status, l.path.join(" ")]);

  test("a planned change set shows where its LSPs would run", () => {
    const planned = changeSet("c1", State.PLANNED, 1, [{ device: "WR", state: DeviceState.PLANNED, lsps: overCr }]);
    expect(brief(overlays([planned], testbed, "c1"))).toEqual([["te-1", "c1", "planned", `${wr} ${cr} ${er}`]]);
    expect(overlays([planned], testbed, undefined)).toEqual([]);
  });

  test("a verified one shows where they run, with the pairs on them", () => {
    const done = changeSet("c1", State.VERIFIED, 1, [{ device: "WR", state: DeviceState.CONFIRMED, lsps: overCr }]);
    const got = overlays([done], testbed, undefined);
    expect(brief(got)).toEqual([["te-1", "c1", "active", `${wr} ${cr} ${er}`]]);
    expect([got[0]?.pairs, got[0]?.queue, got[0]?.broken]).toEqual([["te-1-pair"], "alpha", false]);
  });

  test("the newest plan of a router replaces those before it, even by nothing", () => {
    const first = changeSet("c1", State.VERIFIED, 1, [{ device: "WR", state: DeviceState.CONFIRMED, lsps: overCr }]);
    const second = changeSet("c2", State.VERIFIED, 2, [{ device: "WR", state: DeviceState.CONFIRMED }]);
    expect(overlays([first, second], testbed, undefined)).toEqual([]);
  });

  test("a draft that waited for the one after it is newer on the router", () => {
    const waited = changeSet("c1", State.VERIFIED, 1, [
      { device: "WR", state: DeviceState.CONFIRMED, lsps: overCr, applied: 9 },
    ]);
    const second = changeSet("c2", State.VERIFIED, 2, [
      { device: "WR", state: DeviceState.CONFIRMED, lsps: { "te-2": [er] }, applied: 4 },
    ]);
    expect(brief(overlays([second, waited], testbed, undefined))).toEqual([
      ["te-1", "c1", "active", `${wr} ${cr} ${er}`],
    ]);
  });

  test("after a rollback the one before is in force again", () => {
    const first = changeSet("c1", State.VERIFIED, 1, [{ device: "WR", state: DeviceState.CONFIRMED, lsps: overCr }]);
    const second = changeSet("c2", State.ROLLED_BACK, 2, [
      { device: "WR", state: DeviceState.ROLLED_BACK, lsps: { "te-2": [er] } },
    ]);
    expect(brief(overlays([second, first], testbed, undefined))).toEqual([
      ["te-1", "c1", "active", `${wr} ${cr} ${er}`],
    ]);
  });

  test("a router that refused its part holds no LSP of it", () => {
    const failed = changeSet("c1", State.FAILED, 1, [{ device: "WR", state: DeviceState.FAILED, lsps: overCr }]);
    expect(overlays([failed], testbed, "c1")).toEqual([]);
  });

  test("what a change set would leave as it is is not drawn twice", () => {
    const first = changeSet("c1", State.VERIFIED, 1, [{ device: "WR", state: DeviceState.CONFIRMED, lsps: overCr }]);
    const next = changeSet("c2", State.PLANNED, 2, [
      { device: "WR", state: DeviceState.PLANNED, lsps: { ...overCr, "te-2": [er] } },
    ]);
    expect(brief(overlays([next, first], testbed, "c2"))).toEqual([
      ["te-1", "c1", "active", `${wr} ${cr} ${er}`],
      ["te-2", "c2", "planned", `${wr} ${er}`],
    ]);
  });
});

describe("route", () => {
  test("follows the hops, and the IGP between hops that are not neighbours", () => {
    const graph = graphOf("A-B B-C C-D A-D:100");
    expect(route(graph, "A", [loopback(3)])).toEqual({ path: [0, 1, 2, 3].map(loopback), broken: false });
    expect(route(graph, "A", [loopback(2), loopback(1)])).toEqual({
      path: [0, 1, 2, 1].map(loopback),
      broken: false,
    });
  });

  test.each([
    ["a head that is not on the map", "X", [er], []],
    ["a hop that is not on the map", "WR", ["192.0.2.1"], [wr]],
  ])("is broken at %s", (_name, head, hops, path) => {
    expect(route(testbed, head, hops)).toEqual({ path, broken: true });
  });

  test("does not use links that are down", () => {
    expect(route(graphOf("A-B B>C"), "A", [loopback(2)])).toEqual({ path: [loopback(0)], broken: true });
  });
});

/** Every path without a loop, tried one by one. */
function slowest(graph: ReturnType<typeof graphOf>, from: string, to: string, seen: string[] = []): number {
  if (from === to) return 0;
  let best = Infinity;
  for (const e of graph.edges) {
    for (const l of e.directions) {
      if (!e.up || l.from !== from || seen.includes(l.to)) continue;
      best = Math.min(best, l.metric + slowest(graph, l.to, to, [...seen, from]));
    }
  }
  return best;
}

test("shortestPath costs what trying every path finds", () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * n);
  };
  for (let run = 0; run < 200; run++) {
    const words = Array.from({ length: 8 }, () => {
      const a = random(6);
      const b = (a + 1 + random(5)) % 6;
      return `R${a}${random(6) === 0 ? ">" : "-"}R${b}:${1 + random(9)}`;
    });
    const graph = graphOf(words.join(" "));
    const from = loopback(0);
    const to = loopback(graph.routers.length - 1);
    const path = shortestPath(graph, from, to);
    const cost = path?.slice(1).reduce((sum, id, i) => {
      const directions = graph.edges.filter((e) => e.up).flatMap((e) => e.directions);
      return sum + Math.min(...directions.filter((l) => l.from === path[i] && l.to === id).map((l) => l.metric));
    }, 0);
    expect(cost ?? Infinity, words.join(" ")).toBe(slowest(graph, from, to));
  }
});
