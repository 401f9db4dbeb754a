import { expect, test } from "vitest";
import { leadersDetail, leadersText, readLeaders } from "./replicas";

const answer = [
  { service: "topology", kind: "led", led: true, leader: "te1/17/ABCDEF" },
  { service: "split", kind: "led", led: true },
  { service: "push", kind: "led", led: false },
  { service: "telemetry", kind: "partitioned", led: false, members: ["te1/18/A"] },
];

test("who leads, by host", () => {
  const all = readLeaders(answer);
  expect(leadersText(all)).toBe("topology te1");
  expect(leadersDetail(all)).toBe("topology: te1/17/ABCDEF\nsplit: nobody leads");
  expect(leadersText(readLeaders([]))).toBe("");
});

test("what does not say who leads is refused", () => {
  for (const other of [undefined, null, "x", {}]) expect(() => readLeaders(other)).toThrow();
});
