// What a circuit sent, beside its rate.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Circuit, UsagePoint, UsageResponse } from "../gen/millrace/circuits/v1/circuits_pb";
import { scavengerRate } from "./circuits";
import { bitsPerSecond, formatBytes, formatRate, formatSpan, type Millis, type Share, share } from "./units";

/** How far back the page looks, ms. */
export const usageSpan = 3_600_000;

/** The highest rate that is booked; 0 where none is guaranteed. */
export function bookedRate(c: Circuit): number {
  const rates = c.slots.map((s) => s.rateBitsPerSecond).filter((rate) => rate !== scavengerRate);
  return Math.max(0, ...rates.map(Number));
}

/** The direction of what is said: between ports there are both. */
export type Way = "forth" | "back";

/** What entered, excess too. */
const entered = (p: UsagePoint, way: Way): bigint =>
  way === "forth" ? p.inProfileOctets + p.excessOctets : p.returnOctets;

/** What was sent in each step of the last hour as a share of the rate; undefined where no router reported. */
export function usageTrend(
  usage: UsageResponse,
  booked: number,
  now: Millis,
  way: Way = "forth",
): (Share | undefined)[] {
  const step = Number(usage.stepSeconds) * 1000;
  if (step <= 0 || booked <= 0) return [];
  const first = Math.floor((now - usageSpan) / step) + 1;
  const trend: (Share | undefined)[] = Array.from({ length: Math.ceil(usageSpan / step) }, () => undefined);
  for (const p of usage.points) {
    const at = p.time ? Math.floor(timestampDate(p.time).getTime() / step) - first : -1;
    const bits = Number(entered(p, way)) * 8;
    if (at >= 0 && at < trend.length) trend[at] = share(bits / (step / 1000) / booked);
  }
  return trend;
}

/** So many steps after its beginning a count is here: it takes one, is on its way, and is kept for a while. */
const stepsUntilKnown = 4;

/** The last whole step and the hour in words; undefined where no router reported. */
export function usageText(usage: UsageResponse, booked: number, now: Millis, way: Way = "forth"): string | undefined {
  const last = usage.points.at(-2) ?? usage.points.at(-1); // the newest step is not over
  if (!last) return undefined;
  const step = Number(usage.stepSeconds) * 1000;
  const newest = usage.points.at(-1)?.time;
  const silent = newest ? now - timestampDate(newest).getTime() : 0;
  const rate = bitsPerSecond((Number(entered(last, way)) * 8000) / step);
  const sent =
    silent < stepsUntilKnown * step
      ? `${formatRate(rate)}${booked > 0 ? ` of ${formatRate(bitsPerSecond(booked))}` : ""}`
      : `no counts for ${formatSpan(silent)}`;
  const all = usage.total ? entered(usage.total, way) : 0n;
  const excess = way === "forth" ? (usage.total?.excessOctets ?? 0n) : 0n;
  const above = excess > 0n && booked > 0 ? `, ${formatBytes(excess)} of it above the rate` : "";
  const lacks = usage.carriedUnknown ? "; one port has no counts" : "";
  return `${sent}; ${formatBytes(all)} in the last hour${above}${lacks}`;
}
