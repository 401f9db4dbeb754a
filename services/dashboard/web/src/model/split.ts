// What is decided about the split between alpha and beta.
import type { Port } from "../gen/millrace/split/v1/split_pb";
import type { Tone } from "./changes";

const waits = new Set(["open", "busy", "wait-budget", "wait-interval", "wait-low"]);
const moves = new Set(["raise-now", "raise-ahead", "lower"]);
const stuck = new Set(["held", "frozen", "unread", "at-limit", "no-queues"]);

/** How a port stands, by the rule that decided. */
export function toneOf(p: Port): Tone {
  if (stuck.has(p.rule)) return "bad";
  if (waits.has(p.rule)) return "waiting";
  return moves.has(p.rule) ? "busy" : "good";
}

/** Ports that should move come first, the furthest from their share at the top. */
export function byNeed(ports: readonly Port[]): Port[] {
  return [...ports].sort((a, b) => Math.abs(b.should - b.share) - Math.abs(a.should - a.share));
}

/** A share; – for a port that has none, because it has no queues. */
export function shareText(percent: number): string {
  return percent === 0 ? "–" : `${percent} %`;
}
