// Alpha pairs and their evidence.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Evidence, Pair } from "../gen/millrace/alpha/v1/alpha_pb";

/** Evidence, newest interval first. */
export function evidenceOf(pair: Pair): Evidence[] {
  const start = (e: Evidence) => (e.intervalStart ? timestampMs(e.intervalStart) : 0);
  return [...pair.evidence].sort((a, b) => start(b) - start(a));
}

/** The interval with most bytes. */
export function strongest(pair: Pair): Evidence | undefined {
  return pair.evidence.reduce<Evidence | undefined>((x, e) => (!x || e.bytes > x.bytes ? e : x), undefined);
}

/** Bytes as a multiple of the threshold; undefined where there is none. */
export function overThreshold(e: Evidence): number | undefined {
  return e.minBytes > 0n ? Number(e.bytes) / Number(e.minBytes) : undefined;
}

const protocols: Record<number, string> = { 1: "ICMP", 6: "TCP", 17: "UDP", 47: "GRE", 50: "ESP" };

export const protocolText = (n: number) => protocols[n] ?? `protocol ${n}`;
