import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PredictResponseSchema } from "../gen/millrace/twin/v1/twin_pb";
import { predictedClasses } from "./prediction";

const classes = [
  { router: "wr", interface: "ge-cr", queue: "beta", offered: 20_000_000n, carried: 20_000_000n, delayMeanMs: 0.21 },
  { router: "wr", interface: "ge-cr", queue: "idle" },
  {
    router: "wr",
    interface: "ge-cr",
    queue: "alpha",
    offered: 120_000_000n,
    carried: 94_000_000n,
    lossPercent: 21.7,
    delayMeanMs: 25.4,
    delayP99Ms: 26,
  },
];

test("classes that lose come first, those that offer nothing are left out", () => {
  const rows = predictedClasses(create(PredictResponseSchema, { classes }));
  expect(rows.map((r) => [r.queue, r.suffers])).toEqual([
    ["alpha", true],
    ["beta", false],
  ]);
  expect(rows[0]).toMatchObject({
    port: "wr:ge-cr",
    offered: "120 Mbit/s",
    carried: "94.0 Mbit/s",
    loss: "21.7 %",
    delay: "25 / 26 ms",
  });
  expect(rows[1]).toMatchObject({ loss: "0.0 %", delay: "0.21 / 0.00 ms" });
});

test("a change set without a prediction has no rows", () => {
  expect(predictedClasses(undefined)).toEqual([]);
});
