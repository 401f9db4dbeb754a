import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { TelemetrySeriesSchema } from "../gen/millrace/flow/v1/flow_pb";
import { DeviceState, State, TransitionSchema } from "../gen/millrace/push/v1/push_pb";
import { canaryOf, watchedQueues } from "./canary";
import { changeSet } from "./testing";

function walked(...history: [State, string, number][]) {
  const c = changeSet("c1", history.at(-1)?.[0] ?? State.PLANNED, 1, [{ device: "CR", state: DeviceState.APPLIED }]);
  c.canary = "CR";
  c.history = history.map(([state, note, at]) => create(TransitionSchema, { state, note, time: timestampFromMs(at) }));
  return c;
}

describe("the canary", () => {
  test("is none where none was chosen", () => {
    expect(canaryOf(changeSet("c1", State.PLANNED, 1))).toBeUndefined();
  });

  test("goes first until the change set ends without it", () => {
    expect(canaryOf(walked([State.PLANNED, "", 0]))?.state).toBe("next");
    expect(canaryOf(walked([State.PLANNED, "", 0], [State.FAILED, "", 1]))?.state).toBe("unused");
  });

  test("is watched from its commit on", () => {
    const c = walked([State.APPROVED, "", 0], [State.CANARY, "CR first", 10_000]);
    expect(canaryOf(c)).toMatchObject({ state: "watched", from: timestampFromMs(10_000), verdict: "" });
    if (c.devices[0]) c.devices[0].applied = timestampFromMs(12_000);
    expect(canaryOf(c)).toMatchObject({ from: timestampFromMs(12_000) });
  });

  test("kept its SLO where the others follow, with the figure", () => {
    const c = walked([State.CANARY, "", 10_000], [State.APPLYING, "canary CR kept its SLO: 0 of 9", 70_000]);
    expect(canaryOf(c)).toMatchObject({
      state: "kept",
      until: timestampFromMs(70_000),
      verdict: "canary CR kept its SLO: 0 of 9",
    });
  });

  test("was stopped by anything else, with the reason", () => {
    const c = walked([State.CANARY, "", 10_000], [State.ROLLED_BACK, "CR: as canary: queue a dropped 3 %", 20_000]);
    expect(canaryOf(c)).toMatchObject({ state: "stopped", verdict: "CR: as canary: queue a dropped 3 %" });
  });

  test("a commit of another time is not when its watch began", () => {
    const c = walked([State.CANARY, "", 10_000], [State.ROLLED_BACK, "", 20_000]);
    if (c.devices[0]) c.devices[0].applied = timestampFromMs(90_000);
    expect(canaryOf(c)?.from).toEqual(timestampFromMs(10_000));
  });
});

describe("queue counters", () => {
  const series = (queue: string, kind: string, ...values: number[]) =>
    create(TelemetrySeriesSchema, {
      path: `/qos/interfaces/interface[interface-id=ge-0/0/1]/output/queues/queue[name=${queue}]/state/${kind}-pkts`,
      points: values.map((v, i) => ({ time: timestampFromMs(i * 1000), value: BigInt(v) })),
    });

  test("are counted between the readings, the worst queue first", () => {
    const rows = watchedQueues([
      series("beta", "transmit", 1000, 1500, 2000),
      series("beta", "dropped", 7, 7, 7),
      series("alpha", "transmit", 0, 950),
      series("alpha", "dropped", 10, 60),
    ]);
    expect(rows).toEqual([
      { name: "ge-0/0/1:alpha", sent: 950, dropped: 50, lost: 0.05, readings: 2 },
      { name: "ge-0/0/1:beta", sent: 1000, dropped: 0, lost: 0, readings: 3 },
    ]);
  });

  test("that fall have started again at 0", () => {
    expect(watchedQueues([series("a", "transmit", 100, 150, 20)])[0]).toMatchObject({ sent: 70, dropped: 0 });
  });

  test("of a queue that was offered nothing have no loss", () => {
    expect(watchedQueues([series("a", "transmit", 5, 5)])[0]?.lost).toBeUndefined();
  });

  test("that were never read are no evidence", () => {
    expect(watchedQueues([series("a", "transmit"), series("a", "dropped")])).toEqual([]);
  });

  test("of other kinds are left alone", () => {
    expect(watchedQueues([series("a", "max-queue-len", 5, 5)])).toEqual([]);
  });
});
