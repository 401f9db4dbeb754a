import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Metric, TermsSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { emptyPath, type PathForm, pathFormOf, samePath, wantsOf } from "./circuitPath";

const names = (n: number) => Array.from({ length: n }, (_, i) => `n${i}`);

test("an empty form wants nothing", () => {
  const { path, problems } = wantsOf(emptyPath);
  expect(problems).toEqual({});
  expect(pathFormOf(create(TermsSchema, path))).toEqual(emptyPath);
});

test("what terms want comes out of the form as it was", () => {
  const wanted = {
    maxDelayMicroseconds: 12_345n,
    metric: Metric.DELAY,
    maxHops: 4,
    maxSids: 3,
    via: ["CR", "X"],
    withoutRouters: ["Y"],
    withoutLinks: ["10.0.0.1|10.1.0.1"],
    apartFrom: ["c1", "c2"],
    includeAny: [1, 2],
    includeAll: [63],
    exclude: [0],
    excludeRiskGroups: [70, 4_294_967_295],
  };
  expect(wantsOf(pathFormOf(create(TermsSchema, wanted)))).toEqual({ path: wanted, problems: {} });
});

test.each<[string, Partial<PathForm>, Partial<Record<keyof PathForm, string>>]>([
  ["100 links", { withoutLinks: names(100) }, {}],
  ["101 links", { withoutLinks: names(101) }, { withoutLinks: "101 are more than 100." }],
  ["101 circuits", { apartFrom: names(101) }, { apartFrom: "101 are more than 100." }],
  ["101 routers to avoid", { without: names(101).join(" ") }, { without: "101 are more than 100." }],
  ["nine routers on the way", { via: names(9).join(", ") }, { via: "9 are more than 8." }],
  ["a delay that is none", { delay: "fast" }, { delay: "Write a number such as 2.5." }],
  ["no links", { hops: "0" }, { hops: "Write a number from 1 to 255." }],
  ["256 segments", { sids: "256" }, { sids: "Write a number from 1 to 255." }],
  ["a group that is none", { includeAll: "64" }, { includeAll: "Write numbers from 0 to 63." }],
  ["101 risk groups", { excludeRiskGroups: "7 ".repeat(101) }, { excludeRiskGroups: "101 are more than 100." }],
  [
    "a risk group of 33 bits",
    { excludeRiskGroups: "4294967296" },
    { excludeRiskGroups: "Write numbers from 0 to 4294967295." },
  ],
  ["a router both ways", { via: "CR", without: "CR" }, { via: "CR is to be passed and to be avoided." }],
])("%s", (_name, part, problems) => {
  expect(wantsOf({ ...emptyPath, ...part }).problems).toEqual(problems);
});

test("forms want the same where they say it in other words", () => {
  expect(samePath({ ...emptyPath, via: "CR,X", delay: "2.50" }, { ...emptyPath, via: " CR X", delay: "2.5" })).toBe(
    true,
  );
  for (const part of [{ via: "X CR" }, { delay: "3" }, { withoutLinks: ["l1"] }, { apartFrom: ["c1"] }, { metric: 2 }])
    expect(samePath(emptyPath, { ...emptyPath, ...part })).toBe(false);
});
