import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { RouterPlanSchema } from "../gen/millrace/policy/v1/policy_pb";
import { DeviceState, State, TransitionSchema } from "../gen/millrace/push/v1/push_pb";
import { actionsOf, checkFailed, inMotion, outcome, planSentences, stateLabel, steps } from "./changes";
import { changeSet } from "./testing";

const states = Object.values(State).filter((s): s is State => typeof s === "number");

const walked = (...history: State[]) => {
  const c = changeSet("c1", history.at(-1) ?? State.DRAFT, 1);
  c.history = history.map((state) => create(TransitionSchema, { state }));
  return steps(c).map((s) => `${s.name} ${s.state}`);
};

describe("steps", () => {
  const { DRAFT, PLANNED, APPROVED, APPLYING, APPLIED, VERIFIED, FAILED, ROLLED_BACK, ROLLING_BACK, EMPTY } = State;
  test.each<[string, State[], string[]]>([
    ["a draft", [DRAFT], ["planned now", "approved todo", "applied todo", "verified todo"]],
    ["a planned one", [DRAFT, PLANNED], ["planned done", "approved now", "applied todo", "verified todo"]],
    ["one under way", [PLANNED, APPROVED, APPLYING], ["planned done", "approved done", "applied now", "verified todo"]],
    [
      "one that is through",
      [PLANNED, APPROVED, APPLYING, APPLIED, VERIFIED],
      ["planned done", "approved done", "applied done", "verified done"],
    ],
    [
      "one that failed on the way",
      [PLANNED, APPROVED, APPLYING, FAILED],
      ["planned done", "approved done", "failed failed"],
    ],
    [
      "one on its way back",
      [PLANNED, APPROVED, APPLIED, VERIFIED, ROLLING_BACK],
      ["planned done", "approved done", "applied done", "verified done", "rolling back failed"],
    ],
    [
      "one that was taken back",
      [PLANNED, APPROVED, APPLIED, VERIFIED, ROLLED_BACK],
      ["planned done", "approved done", "applied done", "verified done", "rolled back failed"],
    ],
    ["one with nothing to do", [DRAFT, EMPTY], ["planned todo", "approved todo", "applied todo", "verified todo"]],
  ])("of %s", (_name, history, want) => {
    expect(walked(...history)).toEqual(want);
  });
});

test("every state has a name of its own", () => {
  expect(new Set(states.map((s) => stateLabel(s).text)).size).toBe(states.length);
});

test("a state of a newer server is unknown rather than a crash", () => {
  expect(stateLabel(99 as State).text).toBe("unknown");
});

test("nothing can be approved twice, and only what is in force can be rolled back", () => {
  const able = (action: "approve" | "apply" | "rollback") => states.filter((s) => actionsOf(s).includes(action));
  expect(able("approve")).toEqual([State.PLANNED]);
  expect(able("apply")).toEqual([State.APPROVED]);
  expect(able("rollback")).toEqual([State.VERIFIED]);
  expect(states.filter(inMotion).includes(State.PLANNED)).toBe(false);
});

test("a plan reads as sentences", () => {
  const plan = create(RouterPlanSchema, {
    router: "WR",
    queues: [
      { name: "alpha", weight: 95 },
      { name: "beta", weight: 5 },
    ],
    ports: [{ interface: "ge-er", speed: 100_000_000n }],
    lsps: [{ name: "te-1", hops: ["10.255.0.3", "10.255.0.2"] }],
    rules: [
      { src: "10.1.1.0/24", dst: "10.3.1.0/24", queue: "alpha", lsp: "te-1" },
      { src: "10.1.2.0/24", dst: "10.3.2.0/24", queue: "alpha" },
      { class: "mirror", filter: "ingress", src: "192.0.2.0/28", queue: "lbe", mark: 8 },
      { class: "mirror", filter: "edge", src: "192.0.2.0/28", queue: "lbe", mark: 8 },
    ],
    policers: [{ name: "access", queue: "beta", rate: 100_000_000n, interfaces: ["ge-w1", "ge-wa"] }],
  });
  const nameOf = (a: string) => (a === "10.255.0.3" ? "CR" : a);
  expect(planSentences(plan, nameOf)).toEqual([
    "Queues alpha 95 %, beta 5 % on ge-er (100 Mbit/s)",
    "LSP te-1 by WR → CR → 10.255.0.2",
    "At most 100 Mbit/s into queue beta on each of ge-w1, ge-wa",
    "10.1.1.0/24 → 10.3.1.0/24 into queue alpha and LSP te-1",
    "10.1.2.0/24 → 10.3.2.0/24 into queue alpha",
    "Class mirror into queue lbe, marked with DSCP 8",
  ]);
});

describe("outcome", () => {
  const ended = (history: [State, string][], error: string) => {
    const c = changeSet("c1", history.at(-1)?.[0] ?? State.DRAFT, 1, [{ device: "CR", state: DeviceState.FAILED }]);
    c.history = history.map(([state, note]) => create(TransitionSchema, { state, note }));
    if (c.devices[0]) c.devices[0].error = error;
    return outcome(c);
  };

  test("says what was noted, and what routers said beyond that", () => {
    expect(ended([[State.FAILED, "CR keeps the change"]], "no answer")).toEqual([
      "CR keeps the change",
      "CR: no answer",
    ]);
    expect(ended([[State.FAILED, "CR: no answer; wr is back"]], "no answer")).toEqual(["CR: no answer; wr is back"]);
  });

  test("a change set that went back by itself says why", () => {
    expect(ended([[State.ROLLED_BACK, "CR refused"]], "")).toEqual(["CR refused"]);
  });

  test("one that an operator took back needs no excuse", () => {
    const history: [State, string][] = [
      [State.VERIFIED, ""],
      [State.ROLLED_BACK, "maintenance"],
    ];
    expect(ended(history, "")).toEqual([]);
  });
});

test.each([
  ["ok: running configuration equals the plan", false],
  ["Passed", false],
  ["FAILED: LSP te-1 is down", true],
])("check %s", (line, want) => {
  expect(checkFailed(line)).toBe(want);
});
