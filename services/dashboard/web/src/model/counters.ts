// Bit rates from successive readings of octet counters.
import { type BitsPerSecond, bitsPerSecond, type Millis, millis } from "./units";

/** One reading of a counter of octets. */
export interface Sample {
  time: Millis;
  octets: bigint;
}

/** Rate between two successive readings, at the time of the later one. */
export interface Rate {
  time: Millis;
  /** Undefined where the counter went backwards: the router or its agent restarted, and how much it had counted is lost. */
  rate: BitsPerSecond | undefined;
}

/** How far back readings are kept, and how old the newest may be for a rate of now. */
export const historySpan = 180_000;
export const staleAfter = 20_000;
/** Rates are averages over this time, so that numbers do not flicker. */
const averageOver = 5000;

/** Adds readings that may overlap the ones known, and drops those out of the window. */
export function appendSamples(known: readonly Sample[], fresh: readonly Sample[]): Sample[] {
  const byTime = new Map<number, Sample>();
  for (const s of known) byTime.set(s.time, s);
  for (const s of fresh) byTime.set(s.time, s);
  const all = [...byTime.values()].sort((a, b) => a.time - b.time);
  const newest = all.at(-1);
  return newest ? all.filter((s) => s.time >= newest.time - historySpan) : [];
}

function between(a: Sample, b: Sample): BitsPerSecond | undefined {
  if (b.octets < a.octets || b.time <= a.time) return undefined;
  return bitsPerSecond((Number(b.octets - a.octets) * 8000) / (b.time - a.time));
}

/** The rate of each interval between readings, oldest first. */
export function rates(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).map((s, i) => ({ time: s.time, rate: between(samples[i] as Sample, s) }));
}

/**
 * The rate now: over the newest readings, back to a reset but no further.
 * Undefined when there are none, or they are too old.
 */
export function currentRate(samples: readonly Sample[], now: Millis): BitsPerSecond | undefined {
  const newest = samples.at(-1);
  if (!newest || now - newest.time > staleAfter) return undefined;
  let first = samples.length - 1;
  while (first > 0) {
    const earlier = samples[first - 1] as Sample;
    if (earlier.octets > (samples[first] as Sample).octets) break;
    if (newest.time - earlier.time > averageOver && first < samples.length - 1) break;
    first--;
  }
  return first === samples.length - 1 ? undefined : between(samples[first] as Sample, newest);
}

/** Which counter a telemetry path names. */
export type CounterName = { port: string; queue?: string; leaf: "octets" | "drops" };

const portPath = /^\/interfaces\/interface\[name=([^\]]+)\]\/state\/counters\/out-octets$/;
const queuePath =
  /^\/qos\/interfaces\/interface\[interface-id=([^\]]+)\]\/output\/queues\/queue\[name=([^\]]+)\]\/state\/(transmit-octets|dropped-pkts)$/;

/** Reads an OpenConfig path; undefined for counters the page does not show. */
export function counterName(path: string): CounterName | undefined {
  const port = portPath.exec(path);
  if (port?.[1]) return { port: port[1], leaf: "octets" };
  const queue = queuePath.exec(path);
  if (queue?.[1] && queue[2])
    return { port: queue[1], queue: queue[2], leaf: queue[3] === "dropped-pkts" ? "drops" : "octets" };
  return undefined;
}

/** The readings of every counter, by device and path. */
export type CounterSeries = ReadonlyMap<string, readonly Sample[]>;

export const seriesKey = (device: string, name: CounterName) =>
  `${device} ${name.port} ${name.queue ?? ""} ${name.leaf}`;

/** Queues of a port, in the order of their names. */
export function queuesOf(series: CounterSeries, device: string, port: string): string[] {
  const start = `${device} ${port} `;
  const names = new Set<string>();
  for (const key of series.keys()) {
    const [queue, leaf] = key.startsWith(start) ? key.slice(start.length).split(" ") : [];
    if (queue && leaf === "octets") names.add(queue);
  }
  return [...names].sort();
}

/** Time of the newest reading; later requests begin there. */
export function newestOf(series: CounterSeries): Millis | undefined {
  let newest = 0;
  for (const samples of series.values()) newest = Math.max(newest, samples.at(-1)?.time ?? 0);
  return newest > 0 ? millis(newest) : undefined;
}
