import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { WatchResponseSchema } from "../gen/millrace/event/v1/event_pb";
import { EventStream } from "./eventStream";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Watch = Api["events"]["watch"];

/** Plays one stream per attempt: event ids, then how it ends ("hang" stays open). */
function player(...streams: (string[] | "refuse")[]) {
  const attempts: number[] = [];
  const watch: Watch = (_request, options) => {
    attempts.push(Date.now());
    const ids = streams[attempts.length - 1] ?? "refuse";
    return (async function* () {
      if (ids === "refuse") throw new Error("connection refused");
      options?.onHeader?.(new Headers());
      for (const id of ids) {
        if (id === "hang") await new Promise(() => {});
        else yield create(WatchResponseSchema, { event: { id } });
      }
    })();
  };
  return { attempts, api: { watch } };
}

test("after the stream ends it connects again, and events it has are not delivered twice", async () => {
  const told: string[] = [];
  const p = player(["a", "b"], ["a", "b", "c", "hang"]);
  const s = new EventStream(p.api, (e) => told.push(e.id));
  const stop = s.start();
  await vi.advanceTimersByTimeAsync(999);
  expect([s.get().connected, s.get().error]).toEqual([false, "the stream ended"]);
  await vi.advanceTimersByTimeAsync(1);
  expect([s.get().connected, s.get().error, told]).toEqual([true, undefined, ["a", "b", "c"]]);
  stop();
});

test("it waits longer after each failure, and as before after a success", async () => {
  const p = player("refuse", "refuse", "refuse", [], "refuse");
  const s = new EventStream(p.api, () => {});
  const start = Date.now();
  const stop = s.start();
  await vi.advanceTimersByTimeAsync(60_000);
  const waits = p.attempts.map((t) => t - start).map((t, i, all) => t - (all[i - 1] ?? 0));
  expect(waits.slice(0, 6)).toEqual([0, 1000, 2000, 4000, 1000, 2000]);
  expect(s.get().connected).toBe(false);
  stop();
});

test("it says when it will try again", async () => {
  const s = new EventStream(player("refuse").api, () => {});
  const stop = s.start();
  await vi.advanceTimersByTimeAsync(0);
  expect([s.get().error, (s.get().retryAt ?? 0) - Date.now()]).toEqual(["connection refused", 1000]);
  stop();
});

test("after stop it does not come back", async () => {
  const p = player("refuse");
  const stop = new EventStream(p.api, () => {}).start();
  await vi.advanceTimersByTimeAsync(10);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(p.attempts.length).toBe(1);
});
