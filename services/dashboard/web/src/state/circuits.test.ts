import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { CircuitSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import type { BatchInit } from "../model/circuitForm";
import { emptyPath, wantsOf } from "../model/circuitPath";
import { createCircuits } from "./circuits";

beforeEach(() => void vi.useRealTimers());

/** A service that lists so many circuits, newest first, and answers requests as configured. */
function service(count: number, answers: (ConnectError | string)[] = []) {
  const asked: string[] = [];
  const all = Array.from({ length: count }, (_, i) =>
    create(CircuitSchema, { id: String(count - i).padStart(5, "0") }),
  );
  const circuits = {
    list: async (ask: { pageToken: string; pageSize: number; newestFirst?: boolean }) => {
      const order = ask.newestFirst ? all : all.toReversed();
      const from = ask.pageToken === "" ? 0 : Number(ask.pageToken);
      const to = from + ask.pageSize;
      return { circuits: order.slice(from, to), nextPageToken: to < count ? String(to) : "" };
    },
    request: async (ask: { requestId: string }) => {
      asked.push(ask.requestId);
      const answer = answers.shift() ?? "c1";
      if (answer instanceof ConnectError) throw answer;
      return { circuit: create(CircuitSchema, { id: answer }) };
    },
  };
  return { asked, store: createCircuits({ circuits } as unknown as Pick<Api, "circuits">) };
}

const terms = { project: "lhc", from: "wr", to: "er", rateBitsPerSecond: 5n };

test("of many circuits the newest are shown", async () => {
  const { store } = service(5000);
  const stop = store.booked.start();
  await vi.waitFor(() => expect(store.booked.get().data).toBeDefined());
  stop();
  const { circuits, more } = store.booked.get().data ?? { circuits: [] };
  expect([circuits.length, circuits[0]?.id, circuits.at(-1)?.id, more]).toEqual([2000, "03001", "05000", true]);
});

test("a request whose answer is lost is sent again under its id, whatever became of the form", async () => {
  const { store, asked } = service(0, [new ConnectError("away", Code.Unavailable), "c1"]);
  expect(await store.request(terms, "m.chen", true)).toMatchObject({
    unknown: true,
    error: expect.stringContaining("away"),
  });
  expect(await store.request({ ...terms }, "m.chen", true)).toEqual({ id: "c1" });
  expect(asked[1]).toBe(asked[0]);
  await store.request(terms, "m.chen", true);
  expect(asked[2]).not.toBe(asked[0]);
});

test("another request, and one that was refused, has an id of its own", async () => {
  const { store, asked } = service(0, [
    new ConnectError("away", Code.Unavailable),
    new ConnectError("full", Code.FailedPrecondition),
  ]);
  await store.request(terms, "m.chen", true);
  expect(await store.request({ ...terms, to: "cr" }, "m.chen", true)).toMatchObject({ unknown: false });
  await store.request({ ...terms, to: "cr" }, "m.chen", true);
  await store.request(terms, "a.rossi", true);
  await store.request(terms, "m.chen", false);
  expect(new Set(asked).size).toBe(asked.length);
});

test("a circuit that has no better path says so", async () => {
  for (const [moves, want] of [
    [[{ done: true }], undefined],
    [[], "No better path is worth a move."],
  ] as const) {
    const circuits = { reoptimise: async () => ({ moves }) };
    const store = createCircuits({ circuits } as unknown as Pick<Api, "circuits">);
    expect(await store.reoptimise("c1", { by: "a.rossi", note: "" })).toBe(want);
  }
});

test("a circuit that is kept off routers is let onto them, with who and why", async () => {
  const asked: unknown[] = [];
  const circuits = { activate: async (ask: unknown) => void asked.push(ask) };
  const store = createCircuits({ circuits } as unknown as Pick<Api, "circuits">);
  expect(await store.activate("c1", { by: "a.rossi", note: "serviced" })).toBeUndefined();
  expect(asked).toEqual([{ id: "c1", by: "a.rossi", note: "serviced" }]);
});

test("a window that is repeated is asked for as a batch: dry, and then under one id until its answer came", async () => {
  const asked: { requestId: string; dryRun?: boolean; repeat: unknown }[] = [];
  const one = (id: string) => create(CircuitSchema, { id, slots: [{ rateBitsPerSecond: 5n }], path: [{ link: id }] });
  let away = true;
  const circuits = {
    requestAll: async (ask: { requestId: string; dryRun?: boolean; repeat: unknown }) => {
      asked.push(ask);
      if (!ask.dryRun && away) throw new ConnectError("away", Code.Unavailable);
      return { circuits: [one("c1"), one("c2")] };
    },
  };
  const store = createCircuits({ circuits } as unknown as Pick<Api, "circuits">);
  const repeat = { every: 1, times: 2, timeZone: "Europe/Berlin" };
  const quoted = async (batch: BatchInit) => {
    const answer = store.quote(terms, "m.chen", batch);
    const stop = answer.start();
    await vi.waitFor(() => expect(answer.get().data).toBeDefined());
    stop();
    return answer.get().data;
  };
  expect(await quoted({ repeat })).toMatchObject({ windows: 2, slots: [{}, {}], path: [{ link: "c1" }] });
  expect(await quoted({ maxPaths: 2 })).toMatchObject({ parts: [{ id: "c1" }, { id: "c2" }] });
  expect(asked.pop()).toMatchObject({ maxPaths: 2, dryRun: true });
  expect(await store.request(terms, "m.chen", true, { repeat })).toMatchObject({ unknown: true });
  away = false;
  expect(await store.request(terms, "m.chen", true, { repeat })).toEqual({ id: "c1" });
  expect(asked.map((a) => [a.dryRun ?? false, a.repeat])).toEqual([true, false, false].map((dry) => [dry, repeat]));
  expect(asked[1]?.requestId).toBe(asked[2]?.requestId);
});

test("a change is asked for dry, and then made in the version that was read", async () => {
  const asked: { id: string; version: bigint; dryRun?: boolean }[] = [];
  const circuits = {
    modify: async (ask: { id: string; version: bigint; dryRun?: boolean }) => {
      asked.push(ask);
      return { circuit: create(CircuitSchema, { path: [{ link: "l2" }] }) };
    },
  };
  const store = createCircuits({ circuits } as unknown as Pick<Api, "circuits">);
  const circuit = create(CircuitSchema, { id: "c1", version: 7n, terms: { project: "lhc", maxHops: 3 } });
  const { path } = wantsOf({ ...emptyPath, via: "CR" });
  const answer = store.wouldBe(circuit, { path }, "m.chen");
  const stop = answer.start();
  await vi.waitFor(() => expect(answer.get().data).toBeDefined());
  stop();
  expect(answer.get().data).toMatchObject({
    path: [{ link: "l2" }],
    terms: { project: "lhc", via: ["CR"], maxHops: 0 },
  });
  expect(await store.modify(circuit, { path }, { by: "m.chen", note: "" })).toBeUndefined();
  expect(asked.map((a) => [a.id, a.version, a.dryRun ?? false])).toEqual([
    ["c1", 7n, true],
    ["c1", 7n, false],
  ]);
});
