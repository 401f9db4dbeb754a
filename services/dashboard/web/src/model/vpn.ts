// VPN flows over time, and the states of flows and PEs in words.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { VpnSeriesResponse } from "../gen/millrace/flow/v1/flow_pb";
import type { Flow, Pe, Weight, WeightsResponse } from "../gen/millrace/vpn/v1/vpn_pb";
import type { Tone } from "./changes";
import { type Millis, millis } from "./units";

/** How far back the charts go. */
export const vpnSpan = 300_000;
/** How many lines a reader can distinguish. */
export const mostLines = 8;
/** How many flows the page loads; of more, those with the highest rates. */
export const mostRows = 500;

/** One VPN flow at one time; rates in bit/s. */
export interface VpnReading {
  time: Millis;
  throughput: number;
  share: number;
}

export interface FairnessReading {
  time: Millis;
  fairness: number;
  jain: number;
  active: number;
}

export interface VpnSeries {
  /** By flowKey. */
  flows: ReadonlyMap<string, readonly VpnReading[]>;
  fairness: readonly FairnessReading[];
}

export const emptyVpnSeries: VpnSeries = { flows: new Map(), fairness: [] };

interface FlowName {
  vpn: string;
  ingress: string;
  egress: string;
}

export const flowKey = (f: FlowName) => `${f.vpn} ${f.ingress} ${f.egress}`;

/** Adds readings that may overlap the ones known, and drops those out of the window. */
export function merge<T extends { time: Millis }>(known: readonly T[], fresh: readonly T[]): readonly T[] {
  const byTime = new Map<number, T>();
  for (const r of known) byTime.set(r.time, r);
  for (const r of fresh) byTime.set(r.time, r);
  const all = [...byTime.values()].sort((a, b) => a.time - b.time);
  const newest = all.at(-1);
  return newest ? all.filter((r) => r.time >= newest.time - vpnSpan) : [];
}

export function addSeries(series: VpnSeries, answer: VpnSeriesResponse): VpnSeries {
  const flows = new Map(series.flows);
  for (const s of answer.flows) {
    const fresh = s.points.flatMap((p) =>
      p.time ? [{ time: millis(timestampMs(p.time)), throughput: p.throughput, share: p.fairShare }] : [],
    );
    flows.set(flowKey(s), merge(flows.get(flowKey(s)) ?? [], fresh));
  }
  const fresh = answer.fairness.flatMap((p) =>
    p.time ? [{ time: millis(timestampMs(p.time)), fairness: p.fairness, jain: p.jain, active: p.active }] : [],
  );
  const fairness = merge(series.fairness, fresh);
  const first = (fairness.at(-1)?.time ?? 0) - vpnSpan;
  for (const [key, readings] of flows) if ((readings.at(-1)?.time ?? 0) < first) flows.delete(key);
  return { flows, fairness };
}

/** Time of the newest reading; later requests begin there. */
export function newestOf(series: VpnSeries): Millis | undefined {
  return series.fairness.at(-1)?.time;
}

/**
 * The flows to draw: those of the selected VPN, else those with the highest
 * rates, in an order that does not depend on the rates.
 */
export function drawn(flows: readonly Flow[], series: VpnSeries, selected: string | undefined): Flow[] {
  const known = flows.filter((f) => series.flows.has(flowKey(f)) && (!selected || f.vpn === selected));
  const most = [...known].sort((a, b) => b.throughput - a.throughput || compare(a, b)).slice(0, mostLines);
  return most.sort(compare);
}

const compare = (a: Flow, b: Flow) => flowKey(a).localeCompare(flowKey(b), "en", { numeric: true });

/** Flows that match all words of a search. */
export function found(flows: readonly Flow[], search: string): Flow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return flows
    .filter((f) => {
      const text = `${f.vpn} ${pairText(f)} ${f.ingress} ${f.egress} ${phaseText(f)}`.toLowerCase();
      return words.every((w) => text.includes(w));
    })
    .sort(compare);
}

export const pairText = (f: Flow) => `${f.ingressPe || f.ingress} → ${f.egressPe || f.egress}`;

/** The remote PE sends no feedback, so that the flow is not shaped. */
export const uncontrolled = (f: Flow) => f.phase === "no-feedback";

export const phaseText = (f: Flow) => (uncontrolled(f) ? "uncontrolled" : f.phase);

/** Whether a PE is reachable and has the weights in force. */
export function peState(p: Pe, inForce: boolean): { text: string; tone: Tone } {
  if (!p.connected) return { text: "unreachable", tone: "bad" };
  if (!inForce) return { text: "connected", tone: "good" };
  if (p.current) return { text: "up to date", tone: "good" };
  return p.error ? { text: "refused", tone: "bad" } : { text: "updating", tone: "busy" };
}

/** A weight, short enough for a table. */
export const weightText = (w: number) => (w === 0 ? "–" : String(Number(w.toPrecision(4))));

export function weightList(weights: readonly Weight[]): string {
  return weights.map((w) => `${w.vpn} ${weightText(w.weight)}`).join(", ");
}

/** What is wrong with the weights; empty when nothing is. */
export function weightConcerns(w: WeightsResponse): string[] {
  const out = w.policies.filter((p) => p.error).map((p) => `${p.file}: ${p.error}`);
  if (w.unknown.length > 0) out.push(`no PE has a VPN called ${w.unknown.join(", ")}`);
  return out;
}
