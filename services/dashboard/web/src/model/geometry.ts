// Lines between boxes: where links and LSPs run on the map.
import type { Point } from "./layout";

export interface Size {
  width: number;
  height: number;
}

export interface Line {
  from: Point;
  to: Point;
}

/** Unit vector to the right of the line from a to b (y grows downwards). */
export function rightOf(a: Point, b: Point): Point {
  const d = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: -(b.y - a.y) / d, y: (b.x - a.x) / d };
}

const moved = (p: Point, by: Point, times: number): Point => ({ x: p.x + by.x * times, y: p.y + by.y * times });

/** How far from the centre of a box, in steps of d, its border lies. */
function exit(at: Point, d: Point, centre: Point, box: Size): number {
  const reach = (p: number, step: number, c: number, half: number) =>
    step === 0 ? Infinity : (c + Math.sign(step) * half - p) / step;
  return Math.min(reach(at.x, d.x, centre.x, box.width / 2), reach(at.y, d.y, centre.y, box.height / 2));
}

/** The part between two boxes of the line that runs `offset` to the right of their centres. */
export function lineBeside(a: Point, b: Point, box: Size, offset: number): Line {
  const right = rightOf(a, b);
  const [p, q] = [moved(a, right, offset), moved(b, right, offset)];
  const d = { x: q.x - p.x, y: q.y - p.y };
  const start = exit(p, d, a, box);
  const end = exit(q, { x: -d.x, y: -d.y }, b, box);
  if (!Number.isFinite(start) || !Number.isFinite(end) || start + end >= 1) return { from: p, to: q };
  return { from: moved(p, d, start), to: moved(q, d, -end) };
}

export const middle = (l: Line): Point => ({ x: (l.from.x + l.to.x) / 2, y: (l.from.y + l.to.y) / 2 });

/** Legs of a path, each beside its link; they meet under the boxes they pass. */
export function pathBeside(points: readonly Point[], box: Size, offset: number): string {
  const legs = points.slice(1).map((q, i) => lineBeside(points[i] as Point, q, box, offset));
  return legs
    .map((leg, i) => {
      const at = points[i] as Point;
      const enter = i === 0 ? `M${xy(leg.from)}` : `Q${xy(at)} ${xy(leg.from)}`;
      return `${enter}L${xy(leg.to)}`;
    })
    .join("");
}

const xy = (p: Point) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`;

/** Centre for a label beside the line a–b, on the side away from `from`, clear of the line by `gap`, inside the frame. */
export function labelBeside(a: Point, b: Point, label: Size, away: Point, gap: number, frame: Size): Point {
  const m = middle({ from: a, to: b });
  let n = rightOf(a, b);
  const side = n.x * (m.x - away.x) + n.y * (m.y - away.y);
  // On the middle of the map neither side is away from it: then below, which is also where a lone line is read.
  if (side < -1e-6 || (Math.abs(side) <= 1e-6 && n.y < 0)) n = { x: -n.x, y: -n.y };
  const reach = (Math.abs(n.x) * label.width + Math.abs(n.y) * label.height) / 2 + gap;
  const p = moved(m, n, reach);
  const clamp = (v: number, half: number, max: number) => Math.min(Math.max(v, half + 2), max - half - 2);
  const x = clamp(p.x, label.width / 2, frame.width);
  // What the frame's side takes of the distance is made up for along the line.
  const slide = Math.abs(n.y) > 0.2 ? ((p.x - x) * n.x) / n.y : 0;
  return { x, y: clamp(p.y + slide, label.height / 2, frame.height) };
}

/** A box by its centre. */
export interface Placed extends Point, Size {}

const touch = (a: Placed, b: Placed) =>
  Math.abs(a.x - b.x) * 2 < a.width + b.width && Math.abs(a.y - b.y) * 2 < a.height + b.height;

/** Those of the boxes, first come first served, that touch neither each other nor what stands there already. */
export function withoutOverlap<T extends Placed>(boxes: readonly T[], standing: readonly Placed[]): T[] {
  const kept: T[] = [];
  for (const box of boxes) {
    if (![...standing, ...kept].some((other) => touch(box, other))) kept.push(box);
  }
  return kept;
}

/** Points of a small line chart; undefined values leave a gap. */
export function sparkline(values: readonly (number | undefined)[], size: Size, max: number): string {
  if (values.length < 2 || max <= 0) return "";
  let pen = false;
  return values
    .map((v, i) => {
      if (v === undefined) {
        pen = false;
        return "";
      }
      const x = (i / (values.length - 1)) * size.width;
      const y = size.height - Math.min(v / max, 1) * (size.height - 1) - 0.5;
      const point = `${pen ? "L" : "M"}${xy({ x, y })}`;
      pen = true;
      return point;
    })
    .join("");
}
