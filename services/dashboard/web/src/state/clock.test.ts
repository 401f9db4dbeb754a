import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Clock } from "./clock";

const noon = 1_800_000_000_000;
beforeEach(() => void vi.useFakeTimers({ now: noon }));
afterEach(() => void vi.useRealTimers());

test("the time moves once a second, and stands still between ticks", () => {
  const clock = new Clock();
  const seen: number[] = [];
  clock.subscribe(() => seen.push(clock.now() - noon));
  const stop = clock.start();
  vi.advanceTimersByTime(999);
  expect(clock.now()).toBe(noon);
  vi.advanceTimersByTime(1001);
  stop();
  vi.advanceTimersByTime(5000);
  expect(seen).toEqual([0, 1000, 2000]);
});

test("a listener that left hears nothing", () => {
  const clock = new Clock();
  const listener = vi.fn();
  const leave = clock.subscribe(listener);
  leave();
  const stop = clock.start();
  vi.advanceTimersByTime(2000);
  stop();
  expect(listener).not.toHaveBeenCalled();
});
