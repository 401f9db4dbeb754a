import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { CircuitSchema, State } from "../gen/millrace/circuits/v1/circuits_pb";
import { ChangeSetSchema } from "../gen/millrace/push/v1/push_pb";
import { changeSetsOf, circuitsIn, concern, nightCounts, nightFrom } from "./tonight";
import { millis } from "./units";

const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime();

test("what is shown lasts to the next morning that is not too near", () => {
  for (const [now, end] of [
    [at(24, 12), at(25, 8)],
    [at(24, 23), at(25, 8)],
    [at(25, 3), at(25, 8)],
    [at(25, 4), at(26, 8)],
    [at(25, 7), at(26, 8)],
  ] as const)
    expect(nightFrom(now)).toEqual({ from: now, to: end });
});

const window = { from: millis(at(24, 20)), to: millis(at(25, 8)) };
const circuit = (id: string, state: State, ...hours: (readonly [number, number] | readonly [number])[]) =>
  create(CircuitSchema, {
    id,
    state,
    slots: hours.map(([start, end]) => ({
      start: timestampFromMs(at(24, start)),
      ...(end !== undefined && { end: timestampFromMs(at(24, end)) }),
    })),
  });

test("circuits are in the order in which they begin, those to look at first", () => {
  const all = [
    circuit("b", State.SCHEDULED, [22, 30]),
    circuit("a", State.ACTIVE, [8]),
    circuit("over", State.ACTIVE, [8, 20]),
    circuit("later", State.SCHEDULED, [32, 40]),
    circuit("pause", State.SCHEDULED, [10, 12], [40, 44]),
    circuit("hold", State.HELD, [31, 33]),
    circuit("gone", State.INTERRUPTED, [6, 21]),
  ];
  const shown = circuitsIn(all, window);
  expect(shown.map((c) => c.id)).toEqual(["gone", "hold", "a", "b"]);
  expect(nightCounts(shown, window)).toEqual({ begin: 2, end: 2, concerns: 2 });
});

test("what is kept off routers is to be looked at, and does not begin", () => {
  const off = circuit("off", State.SCHEDULED, [22, 30]);
  off.deactivated = true;
  const shown = circuitsIn([circuit("on", State.SCHEDULED, [21, 30]), off], window);
  expect(shown.map((c) => c.id)).toEqual(["off", "on"]);
  expect(nightCounts(shown, window)).toEqual({ begin: 1, end: 2, concerns: 1 });
});

test("what is not as it should be has a reason", () => {
  const reasons = [
    [circuit("c", State.ACTIVE), undefined],
    [circuit("c", State.SCHEDULED), undefined],
    [circuit("c", State.HELD), "not committed"],
    [circuit("c", State.INTERRUPTED), "interrupted"],
    [create(CircuitSchema, { state: State.ACTIVE, late: true }), "late"],
    [create(CircuitSchema, { state: State.SCHEDULED, deactivated: true }), "kept off routers"],
    [create(CircuitSchema, { state: State.HELD, deactivated: true }), "not committed"],
    [create(CircuitSchema, { state: State.RELEASING, deactivated: true }), undefined],
    [create(CircuitSchema, { state: State.ACTIVE, preempted: { circuit: "d" } }), "preempted"],
    [
      create(CircuitSchema, { state: State.COMMITTED, notRestored: { code: "NO_PATH" } }),
      "a link is gone, and there is no other path",
    ],
  ] as const;
  for (const [c, reason] of reasons) expect(concern(c)).toBe(reason);
});

test("a circuit has the change sets that carry it, and those that left it out", () => {
  const changes = [
    create(ChangeSetSchema, { id: "c-3", circuits: ["c2"] }),
    create(ChangeSetSchema, { id: "c-2", circuits: ["c1", "c2"] }),
    create(ChangeSetSchema, { id: "c-1", refusedCircuits: [{ circuit: "c1", reason: "no path" }] }),
  ];
  expect(changeSetsOf("c1", changes).map((c) => c.id)).toEqual(["c-2", "c-1"]);
});
