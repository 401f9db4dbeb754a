// Alpha pairs and their evidence.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Evidence, Pair } from "../gen/millrace/alpha/v1/alpha_pb";
import { type Share, share } from "./units";

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

/** Whose the pair's flows were and what for (SciTags), as shares of all that it sent in the window that was looked at. */
export function tagsOf(pair: Pair): { name: string; share: Share }[] {
  const sent = Math.max(Number(pair.sentBytes), 1);
  return pair.tags.map((t) => ({
    name: t.activity > 0 ? `${t.communityName}/${t.activityName}` : t.communityName,
    share: share(Number(t.bytes) / sent),
  }));
}
