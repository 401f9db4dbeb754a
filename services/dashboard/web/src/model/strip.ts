// The strip of a link's calendar: how much of what circuits may use is booked, over time.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { FreePiece, LinkCalendar } from "../gen/millrace/circuits/v1/circuits_pb";
import { type Millis, millis, type Share, share } from "./units";

export interface Bar {
  /** Where it begins and how wide it is, as shares of the window. */
  from: Share;
  width: Share;
  /** How much is booked; 1 is all that circuits may use. */
  booked: Share;
  /** More is booked than the soft cap, which an operator may allow, or more than the hard cap, which is too much. */
  beyond: Cap | undefined;
  piece: FreePiece;
}

export type Cap = "soft" | "hard";

/** The higher of a link's caps that is exceeded where so much is free of the soft one. */
export function beyond(l: LinkCalendar, free: bigint): Cap | undefined {
  if (free >= 0n) return undefined;
  return l.reservableBitsPerSecond - free > l.hardBitsPerSecond ? "hard" : "soft";
}

export interface TimeWindow {
  from: Millis;
  to: Millis;
}

export const millisOf = (t: Timestamp): Millis => millis(Number(t.seconds) * 1000 + t.nanos / 1e6);

/** Where a moment is in the window, at its ends at the most. */
export const placeOf = (at: Millis, w: TimeWindow): Share =>
  share(Math.min(Math.max((at - w.from) / (w.to - w.from), 0), 1));

/** The pieces of a link in a window; a link without room for circuits is full. */
export function barsOf(l: LinkCalendar, w: TimeWindow): Bar[] {
  const room = Number(l.reservableBitsPerSecond);
  return l.pieces.flatMap((piece) => {
    const from = piece.start ? placeOf(millisOf(piece.start), w) : share(0);
    const to = piece.end ? placeOf(millisOf(piece.end), w) : share(1);
    if (to <= from) return [];
    const free = Number(piece.freeBitsPerSecond);
    const booked = share(room > 0 ? Math.min(Math.max(1 - free / room, 0), 1) : 1);
    return [{ from, width: share(to - from), booked, beyond: beyond(l, piece.freeBitsPerSecond), piece }];
  });
}

/** Links that have something booked, those with the least room first. */
export const bookedLinks = (links: readonly LinkCalendar[]): LinkCalendar[] =>
  links
    .filter((l) => l.leastFreeBitsPerSecond < l.reservableBitsPerSecond)
    .toSorted((a, b) => freeShare(a) - freeShare(b) || (a.link?.link ?? "").localeCompare(b.link?.link ?? ""));

const freeShare = (l: LinkCalendar) =>
  Number(l.leastFreeBitsPerSecond) / Math.max(Number(l.reservableBitsPerSecond), 1);

/** Part of the window that something else covers, as shares; nothing where they do not meet. */
export function coverOf(
  start: Timestamp | undefined,
  end: Timestamp | undefined,
  w: TimeWindow,
): [Share, Share] | undefined {
  const from = start ? millisOf(start) : w.from;
  const to = end ? millisOf(end) : w.to;
  if (to <= w.from || from >= w.to || to <= from) return undefined;
  const left = placeOf(from, w);
  return [left, share(placeOf(to, w) - left)];
}

const hour = 3_600_000;

/**
 * Full hours of the local clock for the axis, about six of them. offset is that of the time zone at a time, ms east of
 * UTC: it is another one after the clock was changed.
 */
export function hourTicks(w: TimeWindow, offset: (at: Millis) => number): Millis[] {
  const steps = [1, 2, 3, 4, 6, 12, 24, 48];
  const step = hour * (steps.find((s) => (w.to - w.from) / (s * hour) <= 7) ?? 168);
  const out: Millis[] = [];
  const usual = offset(w.from);
  for (let local = Math.ceil((w.from + usual) / step) * step; ; local += step) {
    const guess = local - offset(millis(local - usual));
    // A time that the change leaves out is as far behind it as it would be behind the time before.
    const at = millis(guess + Math.max(0, local - (guess + offset(millis(guess)))));
    if (at > w.to) return out;
    if (at >= w.from && at > (out.at(-1) ?? Number.NEGATIVE_INFINITY)) out.push(at);
  }
}
