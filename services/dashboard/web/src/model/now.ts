// Pairs of which a flow is alpha now.
import { type AlphaNow, NowState, type PortNow, type QueueNow } from "../gen/millrace/alpha/v1/alpha_pb";
import type { Tone } from "./changes";

const states: Record<NowState, { text: string; tone: Tone }> = {
  [NowState.UNSPECIFIED]: { text: "unknown", tone: "bad" },
  [NowState.UNIDENTIFIED]: { text: "unidentified", tone: "bad" },
  [NowState.KNOWN]: { text: "redirected", tone: "good" },
  [NowState.IN_CIRCUIT]: { text: "in a circuit", tone: "good" },
};

/** How a pair stands; one in force whose change set is still open is only about to be redirected. */
export function standing(m: AlphaNow): { text: string; tone: Tone } {
  if (m.state === NowState.KNOWN && m.changeId) return { text: "to be redirected", tone: "busy" };
  return states[m.state] ?? states[NowState.UNSPECIFIED];
}

/** What steers it: a circuit or a change set. */
export const steeredBy = (m: AlphaNow) => m.circuit || m.changeId;

export const needsRedirect = (m: AlphaNow) => m.state === NowState.UNIDENTIFIED;

/** Drops of a port are those of its queues as well, where a router counts either. */
export function dropsOf(p: PortNow): number {
  const queues = p.queues.reduce((sum, q) => sum + q.dropsPerSecond, 0);
  return Math.max(queues, p.dropsPerSecond);
}

/** The port of a pair's router that drops most, or sends most where none does. */
export function portBeside(ports: readonly PortNow[], m: AlphaNow): PortNow | undefined {
  return ports
    .filter((p) => p.router === m.router)
    .sort((a, b) => dropsOf(b) - dropsOf(a) || b.bitsPerSecond - a.bitsPerSecond)[0];
}

/** From which delay of a queue on it is named. Less is what a few packets of a port of 10 Mbit/s take. */
const noticedMs = 5;

/** Queues of a port that drop or let packets wait, worst first. */
export const sufferingQueues = (p: PortNow) =>
  p.queues
    .filter((q) => q.dropsPerSecond > 0 || (q.delayMs ?? 0) >= noticedMs)
    .sort((a, b) => b.dropsPerSecond - a.dropsPerSecond || (b.delayMs ?? 0) - (a.delayMs ?? 0));

/** What a queue drops and for how long its packets wait. */
export function suffers(q: QueueNow): string {
  const said = [];
  if (q.dropsPerSecond > 0) said.push(`${q.dropsPerSecond.toFixed(1)} drops/s`);
  if ((q.delayMs ?? 0) >= noticedMs) said.push(`packets wait ${(q.delayMs ?? 0).toFixed(0)} ms`);
  return said.join(", ");
}
