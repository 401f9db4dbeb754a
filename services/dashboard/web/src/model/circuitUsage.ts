// What a circuit sent, beside its rate.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Circuit, UsageResponse } from "../gen/millrace/circuits/v1/circuits_pb";
import { bitsPerSecond, formatBytes, formatRate, type Millis, type Share, share } from "./units";

/** How far back the page looks, ms. */
export const usageSpan = 3_600_000;

/** The highest rate that is booked. */
export const bookedRate = (c: Circuit): number => Math.max(0, ...c.slots.map((s) => Number(s.rateBitsPerSecond)));

/** What was sent in each step of the last hour as a share of the rate, excess too; undefined where no router reported. */
export function usageTrend(usage: UsageResponse, booked: number, now: Millis): (Share | undefined)[] {
  const step = Number(usage.stepSeconds) * 1000;
  if (step <= 0 || booked <= 0) return [];
  const first = Math.floor((now - usageSpan) / step) + 1;
  const trend: (Share | undefined)[] = Array.from({ length: Math.ceil(usageSpan / step) }, () => undefined);
  for (const p of usage.points) {
    const at = p.time ? Math.floor(timestampDate(p.time).getTime() / step) - first : -1;
    const bits = Number(p.inProfileOctets + p.excessOctets) * 8;
    if (at >= 0 && at < trend.length) trend[at] = share(bits / (step / 1000) / booked);
  }
  return trend;
}

/** The last whole step and the hour in words; undefined where no router reported. */
export function usageText(usage: UsageResponse, booked: number): string | undefined {
  const last = usage.points.at(-2) ?? usage.points.at(-1); // the newest step is not over
  if (!last) return undefined;
  const rate = (Number(last.inProfileOctets + last.excessOctets) * 8) / Number(usage.stepSeconds);
  const excess = usage.total?.excessOctets ?? 0n;
  const all = (usage.total?.inProfileOctets ?? 0n) + excess;
  const above = excess > 0n ? `, ${formatBytes(excess)} of it above the rate` : "";
  return `${formatRate(bitsPerSecond(rate))} of ${formatRate(bitsPerSecond(booked))}; ${formatBytes(all)} in the last hour${above}`;
}
