import { errorText } from "../api/errors";

/** What is known of something on the server, and how well. */
export interface Known<T> {
  data: T | undefined;
  /** Why the last attempt failed; the data is then that of the last good one. */
  error: string | undefined;
  /** Time of the last good answer, ms since the epoch. */
  at: number | undefined;
}

type Timer = ReturnType<typeof setTimeout>;

/**
 * Asks the server again and again, and remembers the last good answer. Nothing
 * is asked while the page is hidden.
 */
export class Resource<T> {
  #known: Known<T> = { data: undefined, error: undefined, at: undefined };
  #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  #running = false;
  #again = false;
  #stopped = true;

  constructor(
    private readonly load: (signal: AbortSignal) => Promise<T>,
    /** Milliseconds until the next question, told from the last answer. */
    private readonly every: (data: T | undefined) => number,
  ) {}

  get = () => this.#known;

  /** Whether it asks by itself. */
  get running(): boolean {
    return !this.#stopped;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Starts asking; what it returns stops it. */
  start(): () => void {
    this.#stopped = false;
    const abort = new AbortController();
    this.#signal = abort.signal;
    void this.refresh();
    return () => {
      this.#stopped = true;
      clearTimeout(this.#timer);
      abort.abort();
    };
  }

  #signal = new AbortController().signal;

  /** Asks now; a question under way is followed by another, so that the answer is newer than the call. */
  async refresh(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = true;
    do {
      this.#again = false;
      await this.#ask();
    } while (this.#again && !this.#stopped);
    this.#running = false;
    this.#schedule();
  }

  async #ask() {
    if (typeof document !== "undefined" && document.hidden) return;
    const started = this.#signal;
    try {
      const data = await this.load(AbortSignal.any([started, AbortSignal.timeout(15_000)]));
      this.#set({ data, error: undefined, at: Date.now() });
    } catch (reason) {
      // Who stopped it, and perhaps started it again since, is not told of the question that was broken off.
      if (!started.aborted) this.#set({ ...this.#known, error: errorText(reason) });
    }
  }

  #schedule() {
    if (!this.#stopped) this.#timer = setTimeout(() => void this.refresh(), this.every(this.#known.data));
  }

  #set(known: Known<T>) {
    this.#known = known;
    for (const listener of this.#listeners) listener();
  }
}
