import { millis } from "../model/units";

/** The time, once a second, for the components that show it. */
export class Clock {
  #now = millis(Date.now());
  #listeners = new Set<() => void>();

  /** The time of the last tick. */
  now = () => this.#now;

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Starts ticking; returns the function that stops it. */
  start(): () => void {
    this.#tick();
    const timer = setInterval(() => this.#tick(), 1000);
    return () => clearInterval(timer);
  }

  #tick() {
    this.#now = millis(Date.now());
    for (const listener of this.#listeners) listener();
  }
}
