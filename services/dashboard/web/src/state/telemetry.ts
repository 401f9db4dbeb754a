import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import type { TelemetrySeries } from "../gen/millrace/flow/v1/flow_pb";
import {
  appendSamples,
  type CounterSeries,
  counterName,
  historySpan,
  newestOf,
  type Sample,
  seriesKey,
} from "../model/counters";
import { millis } from "../model/units";

/** Path prefixes of the counters of ports and of their queues. */
const prefixes = ["/interfaces", "/qos/interfaces"];

/** How much older than the newest known sample one may be that arrives later. */
const late = 15_000;

/** Keeps the counters of all routers, and requests only newer samples. */
export class CounterReader {
  #series: CounterSeries = new Map();

  constructor(private readonly api: Pick<Api["store"], "telemetry">) {}

  async read(signal: AbortSignal): Promise<CounterSeries> {
    const now = Date.now();
    const newest = newestOf(this.#series);
    // A router's clock may be ahead of this browser's, and of the other routers', whose readings would be left out.
    const from = newest === undefined ? now - historySpan : Math.min(newest, now) - late;
    const window = { from: timestampFromMs(from), to: timestampFromMs(now + 60_000) };
    const answers = await Promise.all(
      prefixes.map((pathPrefix) => this.api.telemetry({ pathPrefix, ...window }, { signal })),
    );
    this.#series = merged(
      this.#series,
      answers.flatMap((a) => a.series),
    );
    return this.#series;
  }
}

function merged(known: CounterSeries, fresh: readonly TelemetrySeries[]): CounterSeries {
  const out = new Map(known);
  for (const s of fresh) {
    const name = counterName(s.path);
    if (!name) continue;
    const key = seriesKey(s.device, name);
    const samples: Sample[] = s.points.flatMap((p) =>
      p.time ? [{ time: millis(timestampMs(p.time)), octets: p.value }] : [],
    );
    out.set(key, appendSamples(out.get(key) ?? [], samples));
  }
  return out;
}
