import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DriftSchema } from "../gen/millrace/push/v1/drift_pb";
import { driftAt, driftsOf, driftText } from "./drift";

const drift = (router: string, change: string, repair = "") =>
  create(DriftSchema, { router, change, repair, entries: 2 });

test("drift is said in one sentence", () => {
  expect(driftText(drift("wr", "c-1"))).toBe("2 config entries differ from what change set c-1 left");
  expect(driftText(create(DriftSchema, { change: "c-1", entries: 1 }))).toBe(
    "1 config entry differs from what change set c-1 left",
  );
});

test("a router has its own drift or none", () => {
  const list = [drift("er", "c-1"), drift("wr", "c-1")];
  expect(driftAt(list, "wr")).toBe(list[1]);
  expect(driftAt(list, "cr")).toBeUndefined();
});

test("a change set shows the drift from what it left and the drift it repairs", () => {
  const list = [drift("er", "c-1"), drift("wr", "c-2", "c-3"), drift("cr", "c-4")];
  expect(driftsOf(list, "c-1").map((d) => d.router)).toEqual(["er"]);
  expect(driftsOf(list, "c-3").map((d) => d.router)).toEqual(["wr"]);
  expect(driftsOf(list, "c-9")).toEqual([]);
});
