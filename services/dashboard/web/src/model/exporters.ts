// The health of an exporter: whether its byte counts are complete.
import { type ExporterQuality, Source } from "../gen/millrace/flow/v1/flow_pb";
import { formatCount, formatShare, share } from "./units";

const sources: Record<Source, string> = {
  [Source.UNSPECIFIED]: "unknown",
  [Source.NETFLOW_V5]: "NetFlow v5",
  [Source.NETFLOW_V9]: "NetFlow v9",
  [Source.IPFIX]: "IPFIX",
  [Source.NFCAPD]: "nfcapd file",
  [Source.SFLOW]: "sFlow v5",
};

export const sourceText = (s: Source) => sources[s] ?? sources[Source.UNSPECIFIED];

/** Loss above which an exporter counts as degraded. */
const lossLimit = 0.01;

export const needsTemplates = (s: Source) => s === Source.NETFLOW_V9 || s === Source.IPFIX;

/** What is wrong with an exporter's data; empty when nothing is. */
export function concerns(q: ExporterQuality): string[] {
  const out: string[] = [];
  if (q.samplingRate === 0n) out.push("sampling rate unknown");
  if (q.unknownRate > 0n) out.push(`${formatCount(q.unknownRate)} records without a sampling rate`);
  if (needsTemplates(q.source) && q.templates === 0) out.push("no template yet");
  if (q.lossRatio > lossLimit) out.push(`loses ${formatShare(share(q.lossRatio), 1)}`);
  for (const [reason, n] of Object.entries(q.drops).sort()) {
    if (n > 0n) out.push(`${formatCount(n)} dropped: ${reason}`);
  }
  return out;
}

export function samplingText(rate: bigint): string {
  if (rate === 0n) return "unknown";
  return rate === 1n ? "none" : `1 in ${formatCount(rate)}`;
}
