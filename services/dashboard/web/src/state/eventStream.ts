import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import type { Event } from "../gen/millrace/event/v1/event_pb";
import { addEvent, backoff } from "../model/events";

export interface Stream {
  events: readonly Event[];
  connected: boolean;
  /** Why it is not connected. */
  error: string | undefined;
  /** When it tries again, ms since the epoch. */
  retryAt: number | undefined;
}

/** Follows EventService.Watch and reconnects for as long as the page is open. */
export class EventStream {
  #stream: Stream = { events: [], connected: false, error: undefined, retryAt: undefined };
  #listeners = new Set<() => void>();

  constructor(
    private readonly api: Pick<Api["events"], "watch">,
    /** Called for every event not seen before. */
    private readonly onEvent: (e: Event) => void,
  ) {}

  get = () => this.#stream;

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start(): () => void {
    const abort = new AbortController();
    void this.#follow(abort.signal);
    return () => abort.abort();
  }

  async #follow(signal: AbortSignal) {
    let failures = 0;
    const onConnect = () => {
      failures = 0;
    };
    while (!signal.aborted) {
      const error = await this.#read(signal, onConnect).then(() => "the stream ended", errorText);
      if (signal.aborted) return;
      const wait = backoff(++failures);
      this.#set({ connected: false, error, retryAt: Date.now() + wait });
      await pause(wait, signal);
    }
  }

  async #read(signal: AbortSignal, onConnect: () => void) {
    const onHeader = () => {
      onConnect();
      this.#set({ connected: true, error: undefined, retryAt: undefined });
    };
    for await (const { event } of this.api.watch({ recent: 100 }, { signal, onHeader })) {
      if (event) this.#take(event);
    }
  }

  #take(event: Event) {
    const events = addEvent(this.#stream.events, event);
    if (events === this.#stream.events) return;
    this.#set({ events });
    this.onEvent(event);
  }

  #set(part: Partial<Stream>) {
    this.#stream = { ...this.#stream, ...part };
    for (const listener of this.#listeners) listener();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
