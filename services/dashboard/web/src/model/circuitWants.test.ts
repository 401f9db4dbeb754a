import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Metric, TermsSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { wantedTexts } from "./circuitWants";

test("what is wanted of a path is said, and nothing where nothing is", () => {
  expect(wantedTexts(create(TermsSchema, { metric: Metric.IGP }))).toEqual([]);
  const groups = { includeAny: [1, 2], includeAll: [0], exclude: [63], excludeRiskGroups: [70, 71] };
  const all = { metric: Metric.HOPS, maxHops: 3, maxSids: 2, via: ["CR", "X"], ...groups };
  expect(wantedTexts(create(TermsSchema, all))).toEqual([
    "best by number of links",
    "3 links at most",
    "2 segments at most",
    "via CR, X",
    "any link group 1, 2",
    "all link group 0",
    "no link group 63",
    "no link of risk group 70, 71",
  ]);
});
