import { errorText } from "../api/errors";

/** The last good answer of the server, and whether newer ones failed. */
export interface Known<T> {
  data: T | undefined;
  /** Why the last request failed; the data is then that of the last good one. */
  error: string | undefined;
  /** Time of the last good answer, ms since the epoch. */
  at: number | undefined;
}

type Timer = ReturnType<typeof setTimeout>;

/**
 * Polls the server while it has at least one user, and keeps the last good
 * answer. A hidden page sends no requests.
 */
export class Resource<T> {
  #known: Known<T> = { data: undefined, error: undefined, at: undefined };
  #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  #users = 0;
  /** Ends the requests of this round of polling. */
  #abort = new AbortController();
  #inFlight = false;
  #again = false;

  constructor(
    private readonly load: (signal: AbortSignal) => Promise<T>,
    /** Milliseconds until the next request, given the last answer. */
    private readonly every: (data: T | undefined) => number,
  ) {}

  get = () => this.#known;

  /** Whether it sends requests without being called. */
  get polling(): boolean {
    return this.#users > 0;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Adds a user, and returns the function that removes it. Polling begins with the first user and ends with the last. */
  start(): () => void {
    if (this.#users++ === 0) this.#begin();
    let using = true;
    return () => {
      if (!using) return;
      using = false;
      if (--this.#users === 0) this.#end();
    };
  }

  #begin() {
    this.#abort = new AbortController();
    void this.refresh();
  }

  #end() {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  /** Sends a request now; one in flight is followed by another, so that the answer is newer than the call. */
  async refresh(): Promise<void> {
    if (this.#inFlight) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#inFlight = true;
    do {
      this.#again = false;
      await this.#request();
    } while (this.#again && this.polling);
    this.#inFlight = false;
    this.#schedule();
  }

  async #request() {
    if (typeof document !== "undefined" && document.hidden) return;
    const { signal } = this.#abort;
    try {
      const data = await this.load(AbortSignal.any([signal, AbortSignal.timeout(15_000)]));
      this.#set({ data, error: undefined, at: Date.now() });
    } catch (reason) {
      // The error of a request that was aborted on purpose is no news.
      if (!signal.aborted) this.#set({ ...this.#known, error: errorText(reason) });
    }
  }

  #schedule() {
    if (this.polling) this.#timer = setTimeout(() => void this.refresh(), this.every(this.#known.data));
  }

  #set(known: Known<T>) {
    this.#known = known;
    for (const listener of this.#listeners) listener();
  }
}

/** A polling interval that does not depend on the answer. */
export const always = (ms: number) => () => ms;

/** What does not depend on the data of a resource. */
export type Polled = Pick<Resource<never>, "start" | "polling" | "refresh">;
