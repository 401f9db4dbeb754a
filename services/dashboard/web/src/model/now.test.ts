import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { AlphaNowSchema, NowState, PortNowSchema, QueueNowSchema } from "../gen/millrace/alpha/v1/alpha_pb";
import { dropsOf, needsRedirect, portBeside, standing, steeredBy, sufferingQueues, suffers } from "./now";

const queue = (name: string, dropsPerSecond: number, delayMs?: number) =>
  create(QueueNowSchema, { queue: name, dropsPerSecond, delayMs });
const port = (router: string, name: string, bits: number, drops: number, ...queues: [string, number, number?][]) =>
  create(PortNowSchema, {
    router,
    port: name,
    bitsPerSecond: bits,
    dropsPerSecond: drops,
    queues: queues.map(([q, d, ms]) => queue(q, d, ms)),
  });
const now = (state: NowState, more: { changeId?: string; circuit?: string } = {}) =>
  create(AlphaNowSchema, { state, router: "wr", ...more });

test("only an unidentified pair needs a redirect", () => {
  const all = [NowState.UNIDENTIFIED, NowState.KNOWN, NowState.IN_CIRCUIT, NowState.UNSPECIFIED].map((s) => now(s));
  expect(all.map(needsRedirect)).toEqual([true, false, false, false]);
});

test("a pair in force is redirected once its change set is no longer open", () => {
  expect(standing(now(NowState.KNOWN)).text).toBe("redirected");
  expect(standing(now(NowState.KNOWN, { changeId: "c-1" }))).toEqual({ text: "to be redirected", tone: "busy" });
  expect(standing(now(NowState.UNIDENTIFIED)).tone).toBe("bad");
});

test("a circuit or a change set steers it", () => {
  expect(steeredBy(now(NowState.IN_CIRCUIT, { circuit: "k-1" }))).toBe("k-1");
  expect(steeredBy(now(NowState.KNOWN, { changeId: "c-1" }))).toBe("c-1");
  expect(steeredBy(now(NowState.UNIDENTIFIED))).toBe("");
});

test("the port beside a pair is of its router and drops most", () => {
  const ports = [
    port("wr", "ge-a", 9e9, 0),
    port("wr", "ge-b", 1e9, 0, ["te-beta", 2], ["te-alpha", 1]),
    port("er", "ge-c", 1e9, 50),
  ];
  expect(portBeside(ports, now(NowState.UNIDENTIFIED))?.port).toBe("ge-b");
  expect(portBeside(ports.slice(0, 1), now(NowState.UNIDENTIFIED))?.port).toBe("ge-a");
  expect(portBeside(ports.slice(2), now(NowState.UNIDENTIFIED))).toBeUndefined();
});

test("a port without queues has its own drops", () => {
  expect(dropsOf(port("wr", "a", 0, 7))).toBe(7);
  expect(dropsOf(port("wr", "a", 0, 0, ["x", 1], ["y", 2]))).toBe(3);
});

test("queues that drop or let packets wait come worst first", () => {
  const p = port("wr", "a", 0, 0, ["v", 0, 4.9], ["w", 0, 5], ["x", 1], ["z", 0], ["y", 2], ["u", 0, 98.4]);
  expect(sufferingQueues(p).map((q) => q.queue)).toEqual(["y", "x", "u", "w"]);
  expect(sufferingQueues(p).map(suffers)).toEqual([
    "2.0 drops/s",
    "1.0 drops/s",
    "packets wait 98 ms",
    "packets wait 5 ms",
  ]);
  expect(suffers(queue("te-beta", 12, 101.6))).toBe("12.0 drops/s, packets wait 102 ms");
});
