import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { DeviceState, State, TransitionSchema } from "../gen/millrace/push/v1/push_pb";
import { failures, steps } from "./steps";
import { changeSet } from "./testing";

const walked = (...history: State[]) => {
  const c = changeSet("c1", history.at(-1) ?? State.DRAFT, 1);
  c.history = history.map((state) => create(TransitionSchema, { state }));
  return steps(c).map((s) => `${s.name} ${s.state}`);
};

describe("steps", () => {
  const { DRAFT, PLANNED, APPROVED, APPLYING, APPLIED, VERIFIED, FAILED, ROLLED_BACK, ROLLING_BACK, EMPTY, ABORTED } =
    State;
  test.each<[string, State[], string[]]>([
    ["a draft", [DRAFT], ["planned now", "approved todo", "applied todo", "verified todo"]],
    ["a planned one", [DRAFT, PLANNED], ["planned done", "approved now", "applied todo", "verified todo"]],
    ["one under way", [PLANNED, APPROVED, APPLYING], ["planned done", "approved done", "applied now", "verified todo"]],
    [
      "one that is through",
      [PLANNED, APPROVED, APPLYING, APPLIED, VERIFIED],
      ["planned done", "approved done", "applied done", "verified done"],
    ],
    ["one that was aborted", [PLANNED, ABORTED], ["planned done", "aborted failed"]],
    ["one that failed", [PLANNED, APPROVED, APPLYING, FAILED], ["planned done", "approved done", "failed failed"]],
    [
      "one that is rolling back",
      [PLANNED, APPROVED, APPLIED, VERIFIED, ROLLING_BACK],
      ["planned done", "approved done", "applied done", "verified done", "rolling back failed"],
    ],
    [
      "one that was rolled back",
      [PLANNED, APPROVED, APPLIED, VERIFIED, ROLLED_BACK],
      ["planned done", "approved done", "applied done", "verified done", "rolled back failed"],
    ],
    ["one without a diff", [DRAFT, EMPTY], ["planned todo", "approved todo", "applied todo", "verified todo"]],
  ])("of %s", (_name, history, want) => {
    expect(walked(...history)).toEqual(want);
  });
});

describe("failures", () => {
  const ended = (history: [State, string][], error: string) => {
    const c = changeSet("c1", history.at(-1)?.[0] ?? State.DRAFT, 1, [{ device: "CR", state: DeviceState.FAILED }]);
    c.history = history.map(([state, note]) => create(TransitionSchema, { state, note }));
    if (c.devices[0]) c.devices[0].error = error;
    return failures(c);
  };

  test("are the last note, and what routers add to it", () => {
    expect(ended([[State.FAILED, "CR keeps the change"]], "no answer")).toEqual([
      "CR keeps the change",
      "CR: no answer",
    ]);
    expect(ended([[State.FAILED, "CR: no answer; wr is back"]], "no answer")).toEqual(["CR: no answer; wr is back"]);
  });

  test("of a change set that was rolled back automatically are the reason", () => {
    expect(ended([[State.ROLLED_BACK, "CR refused"]], "")).toEqual(["CR refused"]);
  });

  test("of one that was aborted are who did it and why", () => {
    const c = changeSet("c1", State.ABORTED, 1);
    const last = { state: State.ABORTED, by: "ann" };
    c.history = [create(TransitionSchema, last)];
    expect(failures(c)).toEqual(["Aborted by ann"]);
    c.history = [create(TransitionSchema, { ...last, note: "not tonight" })];
    expect(failures(c)).toEqual(["Aborted by ann: not tonight"]);
  });

  test("of a rollback by an operator are none", () => {
    const history: [State, string][] = [
      [State.VERIFIED, ""],
      [State.ROLLED_BACK, "maintenance"],
    ];
    expect(ended(history, "")).toEqual([]);
  });
});
