// The list of events that the page keeps, and when to reconnect.
import type { Event } from "../gen/millrace/event/v1/event_pb";
import { Severity } from "../gen/millrace/event/v1/event_pb";
import type { Tone } from "./changes";

const keep = 200;

const nanos = (e: Event) => (e.time?.seconds ?? 0n) * 1_000_000_000n + BigInt(e.time?.nanos ?? 0);

/** Adds an event, newest first; one that comes again after a reconnect is ignored. */
export function addEvent(known: readonly Event[], e: Event): readonly Event[] {
  if (known.some((k) => k.id === e.id)) return known;
  const at = known.findIndex((k) => nanos(k) <= nanos(e));
  return known.toSpliced(at < 0 ? known.length : at, 0, e).slice(0, keep);
}

/** Milliseconds to wait before the nth attempt in a row to connect again. */
export const backoff = (attempt: number) => Math.min(1000 * 2 ** Math.max(0, attempt - 1), 15_000);

export function severityTone(s: Severity): Tone {
  return s === Severity.ERROR ? "bad" : s === Severity.WARNING ? "waiting" : "neutral";
}

export function severityText(s: Severity): string {
  return s === Severity.ERROR ? "error" : s === Severity.WARNING ? "warning" : "info";
}
