// What a circuit wants of its path, in words, but for what is excluded and the delay, which are facts of their own.
import { Metric, type Terms } from "../gen/millrace/circuits/v1/circuits_pb";

const metrics: Record<Metric, string> = {
  [Metric.UNSPECIFIED]: "",
  [Metric.IGP]: "",
  [Metric.TE]: "best by TE metric",
  [Metric.DELAY]: "best by delay",
  [Metric.HOPS]: "best by number of links",
};

export function wantedTexts(t: Terms): string[] {
  const groups = (of: string, list: readonly number[]) =>
    list.length > 0 ? `${of} link group ${list.join(", ")}` : "";
  return [
    metrics[t.metric] ?? "",
    t.maxHops > 0 ? `${t.maxHops} links at most` : "",
    t.maxSids > 0 ? `${t.maxSids} segments at most` : "",
    t.via.length > 0 ? `via ${t.via.join(", ")}` : "",
    groups("any", t.includeAny),
    groups("all", t.includeAll),
    groups("no", t.exclude),
    t.excludeRiskGroups.length > 0 ? `no link of risk group ${t.excludeRiskGroups.join(", ")}` : "",
  ].filter(Boolean);
}
