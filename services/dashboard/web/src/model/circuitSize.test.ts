import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { TermsSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { type SizeForm, sizeChange, sizeFormOf } from "./circuitSize";

const readTime = (text: string) => Number(text);
const was = sizeFormOf(create(TermsSchema, { rateBitsPerSecond: 2_500_000_000n, end: timestampFromMs(9000) }), String);

test("the form has the rate in its largest unit, and the end", () => {
  expect(was).toEqual({ rate: "2.5", rateUnit: "Gbit/s", end: "9000" });
  const open = create(TermsSchema, { scavenger: true, rateBitsPerSecond: 1n });
  expect(sizeFormOf(open, String)).toEqual({ rate: "", rateUnit: "Mbit/s", end: "" });
});

test.each<[string, Partial<SizeForm>, object, object]>([
  ["nothing", { rate: " 2.5" }, {}, {}],
  ["the rate", { rate: "3" }, { rateBitsPerSecond: 3_000_000_000n }, {}],
  ["its unit", { rateUnit: "Mbit/s" }, { rateBitsPerSecond: 2_500_000n }, {}],
  ["the end", { end: "11000" }, { end: timestampFromMs(11_000) }, {}],
  ["no end", { end: "" }, { openEnded: true }, {}],
  ["no rate", { rate: "" }, {}, { rate: "Write a number above 0, such as 2.5." }],
  ["a rate of 0", { rate: "0" }, {}, { rate: "Write a number above 0, such as 2.5." }],
  ["a time that is none", { end: "x" }, {}, { end: "This is no time." }],
])("%s", (_name, part, change, problems) => {
  expect(sizeChange({ ...was, ...part }, was, readTime)).toEqual({ change, problems });
});
