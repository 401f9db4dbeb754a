import { expect, test } from "vitest";
import { DeviceState, State } from "../gen/millrace/push/v1/push_pb";
import {
  type Action,
  actionOf,
  awaiting,
  canAbort,
  diffSizes,
  isRunning,
  rollbackText,
  stateLabel,
  stateRow,
} from "./changes";
import { changeSet } from "./testing";

const states = Object.values(State).filter((s): s is State => typeof s === "number");

test("every state has a name of its own", () => {
  expect(new Set(states.map((s) => stateLabel(s).text)).size).toBe(states.length);
});

test("a state of a newer server is unknown rather than a crash", () => {
  expect(stateLabel(99 as State).text).toBe("unknown");
});

test("the table of internal/changestate has a row for every state", () => {
  const progress = ["running", "waiting", "settled"];
  expect(states.filter((s) => !progress.includes(stateRow(s)?.progress ?? ""))).toEqual([]);
});

test("only planned change sets can be approved, only approved ones applied, only verified ones rolled back", () => {
  const able = (action: Action) => states.filter((s) => actionOf(s) === action);
  expect(able("approve")).toEqual([State.PLANNED]);
  expect(able("apply")).toEqual([State.APPROVED]);
  expect(able("rollback")).toEqual([State.VERIFIED]);
});

test("what waits or is under way can be aborted until it is being confirmed", () => {
  const { DRAFT, PLANNED, APPROVED, APPLYING, ROLLING_BACK, SCHEDULED, CANARY } = State;
  expect(states.filter(canAbort)).toEqual([DRAFT, PLANNED, APPROVED, APPLYING, ROLLING_BACK, SCHEDULED, CANARY]);
});

test("a change set that waits for an operator is not polled fast", () => {
  expect(states.filter(isRunning)).toEqual([
    State.DRAFT,
    State.APPLYING,
    State.APPLIED,
    State.ROLLING_BACK,
    State.CANARY,
  ]);
  expect(isRunning(99 as State)).toBe(false);
});

test("change sets await approval in the order of the list", () => {
  const list = [State.PLANNED, State.VERIFIED, State.APPROVED, State.PLANNED].map((s, i) => changeSet(`c${i}`, s, i));
  expect(awaiting(list).map((c) => c.id)).toEqual(["c0", "c3"]);
});

test("the page says how to roll back from the plan until the change set has ended", () => {
  const { PLANNED, APPROVED, SCHEDULED, CANARY, APPLYING, APPLIED, VERIFIED } = State;
  expect(states.filter((s) => rollbackText(s) !== undefined)).toEqual([
    PLANNED,
    APPROVED,
    APPLYING,
    APPLIED,
    VERIFIED,
    SCHEDULED,
    CANARY,
  ]);
});

test("routers without a diff are not counted", () => {
  const c = changeSet("c1", State.PLANNED, 1, [
    { device: "WR", state: DeviceState.PLANNED },
    { device: "CR", state: DeviceState.PLANNED },
  ]);
  if (c.devices[0]) c.devices[0].diff = "--- /a\n+++ /a\n@@ -1 +1,2 @@\n-x\n+y\n+z\n";
  expect(diffSizes(c)).toEqual([{ device: "WR", added: 2, removed: 1 }]);
});
