import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import type { TelemetrySeries } from "../gen/millrace/flow/v1/flow_pb";
import {
  appendSamples,
  bookKey,
  type CounterBook,
  counterName,
  historySpan,
  newestOf,
  type Sample,
} from "../model/counters";
import { millis } from "../model/units";

/** Keeps the counters of all routers, and asks only for what is newer than what it has. */
export class CounterReader {
  #book: CounterBook = new Map();

  constructor(private readonly api: Pick<Api["store"], "telemetry">) {}

  /** One router that cannot be read does not hide the others; only when none can is it an error. */
  async read(devices: readonly string[], signal: AbortSignal): Promise<CounterBook> {
    const answers = await Promise.allSettled(
      devices.flatMap((d) => ["/interfaces", "/qos/interfaces"].map((path) => this.#ask(d, path, signal))),
    );
    const good = answers.filter((a) => a.status === "fulfilled").flatMap((a) => a.value);
    const bad = answers.find((a) => a.status === "rejected");
    if (bad && good.length === 0) throw bad.reason;
    this.#book = merged(this.#book, good);
    return this.#book;
  }

  async #ask(device: string, pathPrefix: string, signal: AbortSignal): Promise<TelemetrySeries[]> {
    const now = Date.now();
    const newest = newestOf(this.#book, device);
    // Counters of one router do not arrive together; some of the last seconds may still be on their way.
    const from = newest === undefined ? now - historySpan : newest - 5000;
    const answer = await this.api.telemetry(
      // Clocks of routers and of this browser differ: what is a little ahead of us counts too.
      { device, pathPrefix, from: timestampFromMs(from), to: timestampFromMs(now + 60_000) },
      { signal },
    );
    return answer.series;
  }
}

function merged(book: CounterBook, series: readonly TelemetrySeries[]): CounterBook {
  const out = new Map(book);
  for (const s of series) {
    const name = counterName(s.path);
    if (!name) continue;
    const key = bookKey(s.device, name);
    const fresh: Sample[] = s.points.flatMap((p) =>
      p.time ? [{ time: millis(timestampMs(p.time)), octets: p.value }] : [],
    );
    out.set(key, appendSamples(out.get(key) ?? [], fresh));
  }
  return out;
}
