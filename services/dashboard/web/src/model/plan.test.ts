import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RouterPlanSchema } from "../gen/millrace/policy/v1/policy_pb";
import { checkFailed, planSentences } from "./plan";

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

test.each([
  ["ok: running configuration equals the plan", false],
  ["Passed", false],
  ["FAILED: LSP te-1 is down", true],
])("check %s", (line, want) => {
  expect(checkFailed(line)).toBe(want);
});
