import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { type Event, EventSchema } from "../gen/millrace/event/v1/event_pb";
import { addEvent, backoff } from "./events";

const event = (id: string, at: number) => create(EventSchema, { id, time: timestampFromMs(at) });
const all = (...list: Event[]) => list.reduce<readonly Event[]>((known, e) => addEvent(known, e), []).map((e) => e.id);

test("events stand newest first, also when one arrives late", () => {
  expect(all(event("a", 1), event("c", 3), event("b", 2))).toEqual(["c", "b", "a"]);
});

test("events of the same time keep the order in which they came, newest first", () => {
  expect(all(event("a", 1), event("b", 1))).toEqual(["b", "a"]);
});

test("an event that comes again after a reconnect changes nothing", () => {
  const known = addEvent([], event("a", 1));
  expect(addEvent(known, event("a", 1))).toBe(known);
});

test("only so many are kept, the newest", () => {
  const ids = all(...Array.from({ length: 300 }, (_, i) => event(String(i), i)));
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, "299", "100"]);
});

test("attempts to reconnect come ever slower, up to a bound", () => {
  expect([1, 2, 3, 4, 5, 50].map(backoff)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000]);
});
