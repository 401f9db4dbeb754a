import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Resource } from "./resource";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Request {
  resolve: (answer: string) => void;
  reject: (reason: Error) => void;
}

/** A server whose answers the test gives. */
function server() {
  const requests: Request[] = [];
  const load = () => new Promise<string>((resolve, reject) => void requests.push({ resolve, reject }));
  const last = () => requests.at(-1) as Request;
  return { requests, load, last };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

test("a failed answer keeps the last good one and says why it failed", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  const stop = r.start();
  s.last().resolve("one");
  await settle();
  await vi.advanceTimersByTimeAsync(1000);
  s.last().reject(new Error("connection refused"));
  await settle();
  expect([r.get().data, r.get().error]).toEqual(["one", "connection refused"]);
  await vi.advanceTimersByTimeAsync(1000);
  s.last().resolve("two");
  await settle();
  expect([r.get().data, r.get().error]).toEqual(["two", undefined]);
  stop();
});

test("there is never more than one request in flight, and a refresh meanwhile brings a newer answer", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  const stop = r.start();
  void r.refresh();
  void r.refresh();
  expect(s.requests.length).toBe(1);
  s.last().resolve("before");
  await settle();
  expect(s.requests.length).toBe(2);
  s.last().resolve("after");
  await settle();
  expect(r.get().data).toBe("after");
  stop();
});

test("the last answer decides when the next request is sent", async () => {
  const s = server();
  const r = new Resource(s.load, (data) => (data === "busy" ? 100 : 1000));
  const stop = r.start();
  s.last().resolve("busy");
  await vi.advanceTimersByTimeAsync(100);
  s.last().resolve("idle");
  await vi.advanceTimersByTimeAsync(999);
  expect(s.requests.length).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(s.requests.length).toBe(3);
  stop();
});

test("started again at once it sends a new request, and ignores the error of the aborted one", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  r.start()();
  const stop = r.start();
  s.last().reject(new Error("aborted"));
  await settle();
  expect([s.requests.length, r.get().error]).toEqual([2, undefined]);
  s.last().resolve("one");
  await settle();
  expect(r.get().data).toBe("one");
  stop();
});

test("after stop no request is sent and no error shown", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  const stop = r.start();
  stop();
  s.last().reject(new Error("aborted"));
  await vi.advanceTimersByTimeAsync(5000);
  expect([s.requests.length, r.get().error]).toEqual([1, undefined]);
});

test("of two users, the first to leave does not stop the other's polling", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  const first = r.start();
  const second = r.start();
  expect(s.requests.length).toBe(1);
  first();
  s.last().resolve("one");
  await settle();
  await vi.advanceTimersByTimeAsync(1000);
  expect([r.polling, r.get().data, s.requests.length]).toEqual([true, "one", 2]);
  second();
  s.last().resolve("two");
  await vi.advanceTimersByTimeAsync(5000);
  expect([r.polling, s.requests.length]).toEqual([false, 2]);
});

test("a user that leaves twice counts once", async () => {
  const s = server();
  const r = new Resource(s.load, () => 1000);
  const first = r.start();
  const second = r.start();
  first();
  first();
  expect(r.polling).toBe(true);
  second();
  expect(r.polling).toBe(false);
});
