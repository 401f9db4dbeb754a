// What share of alpha bytes the pairs known before caught (paper 002, section II).
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { EffectivenessDay } from "../gen/millrace/alpha/v1/alpha_pb";
import { type Millis, millis, type Share, share } from "./units";

/** A day or a month, and of its alpha bytes the shares that pairs under /24 and /32 caught. */
export interface Caught {
  time: Millis;
  bytes: number;
  under24: Share;
  under32: Share;
}

/** More days than these are shown by month. */
const mostDays = 92;

const dayMs = 24 * 3_600_000;

/** By day, or by month where there are many days. What had no alpha bytes says nothing and is left out. */
export function caughtOver(days: readonly EffectivenessDay[]): Caught[] {
  const startOf = (at: number): number => {
    const day = new Date(at);
    return days.length > mostDays ? Date.UTC(day.getUTCFullYear(), day.getUTCMonth()) : at;
  };
  const parts = new Map<number, EffectivenessDay[]>();
  for (const d of days) {
    const start = startOf(d.day ? timestampMs(d.day) : 0);
    parts.set(start, [...(parts.get(start) ?? []), d]);
  }
  return [...parts].map(([time, part]) => sum(millis(time), part)).filter((c) => c.bytes > 0);
}

/** All days together. */
export const caughtInAll = (days: readonly EffectivenessDay[]): Caught => sum(millis(0), days);

/** How far back the first of them is, with a day of margin, ms. */
export const spanOver = (caught: readonly Caught[], now: Millis): number => now - (caught[0]?.time ?? now) + dayMs;

function sum(time: Millis, days: readonly EffectivenessDay[]): Caught {
  const of = (part: "alphaBytes" | "caught24Bytes" | "caught32Bytes") => days.reduce((n, d) => n + Number(d[part]), 0);
  const bytes = of("alphaBytes");
  const shareOf = (caught: number) => share(bytes > 0 ? caught / bytes : 0);
  return { time, bytes, under24: shareOf(of("caught24Bytes")), under32: shareOf(of("caught32Bytes")) };
}
