// Lines over time: where they run and what stands at the axis.
import type { Size } from "./geometry";
import type { Millis } from "./units";

export interface Reading {
  time: Millis;
  value: number;
}

/** The part of time and of values that a chart shows. */
export interface Window {
  from: Millis;
  to: Millis;
  /** Values run from 0 to this. */
  max: number;
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below v. */
export function niceMax(v: number): number {
  if (!(v > 0) || !Number.isFinite(v)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  for (const step of [1, 2, 5]) if (v <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

/** Values at the axis, from 0. */
export const ticks = (max: number): number[] => [0, max / 2, max];

/** Readings further apart than this, ms, are not joined unless a chart says otherwise: nothing is known between them. */
const gap = 5000;

const place = (r: Reading, w: Window, size: Size) => ({
  x: ((r.time - w.from) / (w.to - w.from)) * size.width,
  y: size.height - Math.min(r.value / w.max, 1) * size.height,
});

/** The line through the readings of the window. */
export function linePath(readings: readonly Reading[], w: Window, size: Size, apart = gap): string {
  let last: Reading | undefined;
  let path = "";
  for (const r of readings) {
    if (r.time < w.from || r.time > w.to) continue;
    const { x, y } = place(r, w, size);
    path += `${last && r.time - last.time <= apart ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    last = r;
  }
  return path;
}

/** The reading nearest to a time, if any is near enough to stand for it. */
export function readingAt<T extends { time: Millis }>(
  readings: readonly T[],
  time: Millis,
  apart = gap,
): T | undefined {
  let best: T | undefined;
  for (const r of readings) {
    const d = Math.abs(r.time - time);
    if (d <= apart && (!best || d < Math.abs(best.time - time))) best = r;
  }
  return best;
}
