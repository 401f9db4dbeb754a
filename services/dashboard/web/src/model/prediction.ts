// What a change set would do to each class of traffic, by the twin, as texts.
import type { PredictResponse } from "../gen/millrace/twin/v1/twin_pb";
import { bitsPerSecond, formatRate } from "./units";

export interface PredictedClass {
  port: string;
  queue: string;
  offered: string;
  carried: string;
  loss: string;
  delay: string;
  /** A class that loses more than a thousandth of what it offers. */
  suffers: boolean;
}

/** The classes that offer anything, those that lose most first. */
export function predictedClasses(p: PredictResponse | undefined): PredictedClass[] {
  const offering = (p?.classes ?? []).filter((c) => c.offered > 0n);
  return offering
    .toSorted((a, b) => b.lossPercent - a.lossPercent)
    .map((c) => ({
      port: `${c.router}:${c.interface}`,
      queue: c.queue,
      offered: formatRate(bitsPerSecond(Number(c.offered))),
      carried: formatRate(bitsPerSecond(Number(c.carried))),
      loss: `${c.lossPercent.toFixed(c.lossPercent > 0 && c.lossPercent < 0.1 ? 3 : 1)} %`,
      delay: `${milliseconds(c.delayMeanMs)} / ${milliseconds(c.delayP99Ms)} ms`,
      suffers: c.lossPercent > 0.1,
    }));
}

const milliseconds = (ms: number) => ms.toFixed(ms < 10 ? 2 : 0);
