// Positions of routers on the map. The same network always looks the same:
// positions depend on routers and links alone, never on chance or on loads.

export interface Point {
  x: number;
  y: number;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const rounds = 300;

/** The parts of a graph that positions depend on. */
export interface Shape {
  routers: readonly { id: string }[];
  edges: readonly { a: string; b: string }[];
}

export const sameShape = (x: Shape, y: Shape) =>
  same(x.routers, y.routers, (p, q) => p.id === q.id) && same(x.edges, y.edges, (p, q) => p.a === q.a && p.b === q.b);

const same = <T>(x: readonly T[], y: readonly T[], equal: (p: T, q: T) => boolean) =>
  x.length === y.length && x.every((p, i) => equal(p, y[i] as T));

/** Positions by router id, filling the box. */
export function layout(shape: Shape, box: Box): Map<string, Point> {
  const ids = shape.routers.map((r) => r.id);
  const points = circle(ids.length);
  if (ids.length > 3) relax(points, indexEdges(shape, ids));
  return new Map(stretch(points, box).map((p, i) => [ids[i] as string, p]));
}

/** Evenly around a circle, the first on top; two stand side by side. */
function circle(n: number): Point[] {
  const turn = n === 2 ? Math.PI : -Math.PI / 2;
  return Array.from({ length: n }, (_, i) => {
    const angle = turn + (2 * Math.PI * i) / n;
    return { x: Math.cos(angle), y: Math.sin(angle) };
  });
}

function indexEdges(shape: Shape, ids: readonly string[]): [number, number][] {
  const index = new Map(ids.map((id, i) => [id, i]));
  const pairs: [number, number][] = [];
  for (const e of shape.edges) {
    const a = index.get(e.a);
    const b = index.get(e.b);
    if (a !== undefined && b !== undefined && a !== b) pairs.push([a, b]);
  }
  return pairs;
}

/** Fruchterman and Reingold: every router pushes all others away, links pull, and it cools down. */
function relax(points: Point[], edges: readonly [number, number][]) {
  const k = 1.6 / Math.sqrt(points.length);
  for (let round = 0; round < rounds; round++) {
    const force = points.map(() => ({ x: 0, y: 0 }));
    for (let i = 0; i < points.length; i++) {
      for (let j = i + 1; j < points.length; j++) push(points, force, i, j, (d) => (k * k) / d);
    }
    for (const [i, j] of edges) push(points, force, i, j, (d) => (-d * d) / k);
    const heat = 0.1 * (1 - round / rounds);
    force.forEach((f, i) => {
      const size = Math.hypot(f.x, f.y) || 1;
      const p = points[i] as Point;
      p.x += (f.x / size) * Math.min(size, heat);
      p.y += (f.y / size) * Math.min(size, heat);
    });
  }
}

function push(points: readonly Point[], force: Point[], i: number, j: number, law: (distance: number) => number) {
  const [a, b, fa, fb] = [points[i], points[j], force[i], force[j]] as [Point, Point, Point, Point];
  const dx = a.x - b.x;
  const dy = a.y - b.y;
  const d = Math.max(Math.hypot(dx, dy), 0.01);
  const f = law(d) / d;
  fa.x += dx * f;
  fa.y += dy * f;
  fb.x -= dx * f;
  fb.y -= dy * f;
}

const tenth = (v: number) => Math.round(v * 10) / 10;

/** Stretches to the box; what has no extent stands in its middle. */
function stretch(points: readonly Point[], box: Box): Point[] {
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  const scale = (v: number, all: number[], from: number, to: number) => {
    const [min, max] = [Math.min(...all), Math.max(...all)];
    return max - min < 1e-6 ? (from + to) / 2 : tenth(from + ((v - min) / (max - min)) * (to - from));
  };
  return points.map((p) => ({
    x: scale(p.x, xs, box.left, box.right),
    y: scale(p.y, ys, box.top, box.bottom),
  }));
}
