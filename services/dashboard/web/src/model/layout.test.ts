import { describe, expect, test } from "vitest";
import { labelBeside, lineBeside, sparkline, withoutOverlap } from "./geometry";
import { layout, sameShape } from "./layout";
import { network } from "./testing";
import { buildGraph } from "./topology";
import { millis } from "./units";

const box = { left: 50, top: 30, right: 550, bottom: 330 };
const ring = Array.from({ length: 30 }, (_, i) => `R${i}-R${(i + 1) % 30}`).join(" ");

const places = (text: string) => {
  const graph = buildGraph(network(text), [], new Map(), millis(0));
  const at = layout(graph, box);
  return Object.fromEntries(graph.routers.map((r) => [r.name, at.get(r.id)]));
};

describe("layout", () => {
  test("CR of the testbed stands over the line from WR to ER", () => {
    expect(places("WR-ER WR-CR CR-ER")).toEqual({
      WR: { x: 50, y: 330 },
      ER: { x: 550, y: 330 },
      CR: { x: 300, y: 30 },
    });
  });

  test("two routers stand side by side and one in the middle", () => {
    expect(places("A-B")).toEqual({ A: { x: 50, y: 180 }, B: { x: 550, y: 180 } });
  });

  test.each(["A-B B-C C-D D-A", ring])("%.20s… stays inside the box, apart, and the same each time", (text) => {
    const got = places(text);
    const points = Object.values(got).map((p) => p ?? { x: Number.NaN, y: Number.NaN });
    for (const p of points) {
      expect(p.x).toBeGreaterThanOrEqual(box.left - 0.001);
      expect(p.x).toBeLessThanOrEqual(box.right + 0.001);
      expect(p.y).toBeGreaterThanOrEqual(box.top - 0.001);
      expect(p.y).toBeLessThanOrEqual(box.bottom + 0.001);
    }
    const nearest = Math.min(
      ...points.flatMap((p, i) => points.slice(0, i).map((q) => Math.hypot(p.x - q.x, p.y - q.y))),
    );
    expect(nearest).toBeGreaterThan(20);
    expect(places(text)).toEqual(got);
  });

  test("the order in which links are announced does not matter", () => {
    expect(places("WR-CR CR-ER WR-ER").CR).toEqual(places("WR-ER WR-CR CR-ER").CR);
  });
});

describe("geometry", () => {
  const size = { width: 100, height: 40 };

  test("a direction runs between the boxes' borders, to the right of its direction", () => {
    expect(lineBeside({ x: 0, y: 0 }, { x: 300, y: 0 }, size, 5)).toEqual({
      from: { x: 50, y: 5 },
      to: { x: 250, y: 5 },
    });
    expect(lineBeside({ x: 300, y: 0 }, { x: 0, y: 0 }, size, 5)).toEqual({
      from: { x: 250, y: -5 },
      to: { x: 50, y: -5 },
    });
    expect(lineBeside({ x: 0, y: 0 }, { x: 0, y: 200 }, size, 5)).toEqual({
      from: { x: -5, y: 20 },
      to: { x: -5, y: 180 },
    });
  });

  test("boxes that overlap still get a line", () => {
    const got = lineBeside({ x: 0, y: 0 }, { x: 30, y: 0 }, size, 0);
    expect(got).toEqual({ from: { x: 0, y: 0 }, to: { x: 30, y: 0 } });
  });

  test("a label stands clear of its line, away from the middle, inside the frame", () => {
    const frame = { width: 600, height: 400 };
    expect(labelBeside({ x: 100, y: 300 }, { x: 500, y: 300 }, size, { x: 300, y: 200 }, 10, frame)).toEqual({
      x: 300,
      y: 330,
    });
    expect(labelBeside({ x: 100, y: 390 }, { x: 500, y: 390 }, size, { x: 300, y: 200 }, 10, frame).y).toBe(378);
  });

  test("a label that the frame's side pushes back keeps its distance from the line", () => {
    const frame = { width: 400, height: 400 };
    const [a, b, away] = [
      { x: 20, y: 300 },
      { x: 180, y: 140 },
      { x: 200, y: 250 },
    ];
    const wide = { width: 180, height: 40 };
    const at = labelBeside(a, b, wide, away, 10, frame);
    expect(at.x).toBe(92);
    // The box's lower right corner is the nearest to the line x + y = 320.
    expect((320 - (at.x + 90 + at.y + 20)) / Math.SQRT2).toBeCloseTo(10);
  });

  test("what would overlap is left out, first come first served", () => {
    const at = (x: number) => ({ x, y: 0, ...size });
    expect(withoutOverlap([at(0), at(99), at(100), at(320)], [at(310)])).toEqual([at(0), at(100)]);
  });

  test("a sparkline has gaps where the value is not known and stays below its top", () => {
    const d = sparkline([0, undefined, 1, 2], { width: 30, height: 11 }, 1);
    expect(d).toBe("M0.0 10.5M20.0 0.5L30.0 0.5");
    expect(sparkline([0.5], { width: 30, height: 11 }, 1)).toBe("");
  });
});

test("a shape is the same as long as routers and links are, whatever the loads", () => {
  const graph = (text: string) => buildGraph(network(text), [], new Map(), millis(0));
  expect(sameShape(graph("A-B B-C"), graph("A-B:7 B-C"))).toBe(true);
  expect(sameShape(graph("A-B B-C"), graph("A-B A-C"))).toBe(false);
  expect(sameShape(graph("A-B B-C"), graph("A-B"))).toBe(false);
});
