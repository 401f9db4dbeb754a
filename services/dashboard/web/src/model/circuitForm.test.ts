import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { Protection, TermsSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { type CircuitForm, emptyForm, formOf, scaledDown, scaledUp, termsOf } from "./circuitForm";

/** Times of a zone where the clock shows milliseconds. */
const readTime = (text: string) => Number(text);
const writeTime = (ms: number) => String(ms);

const form = (part: Partial<CircuitForm>): CircuitForm => ({
  ...emptyForm,
  project: "climate",
  from: "WR",
  to: "ER",
  rate: "5",
  ...part,
});

describe("numbers", () => {
  test.each<[string, number, bigint | undefined]>([
    ["5", 6, 5_000_000n],
    [" 2.5 ", 9, 2_500_000_000n],
    ["2,5", 9, 2_500_000_000n],
    ["0.1", 6, 100_000n],
    ["1.000", 0, 1n],
    ["0.0000001", 6, undefined],
    ["1e3", 6, undefined],
    ["-1", 6, undefined],
    ["1 000", 6, undefined],
    ["9007199254740993", 3, 9_007_199_254_740_993_000n],
  ])("%s times ten to the power of %i is exact", (text, power, want) => {
    expect(scaledUp(text, power)).toBe(want);
  });

  test("come out as they went in", () => {
    for (const n of [0n, 1n, 999n, 1_000_000n, 1_234_567_891n, 9_007_199_254_740_993n])
      for (const power of [0, 3, 9]) expect(scaledUp(scaledDown(n, power), power)).toBe(n);
  });
});

describe("terms", () => {
  test("have priorities where the form has them, and a setup priority is not before the other", () => {
    expect(termsOf(form({}), readTime).terms).not.toHaveProperty("priority");
    const both = termsOf(form({ priority: "2", setup: "3" }), readTime);
    expect(both).toMatchObject({ terms: { priority: 2, setupPriority: 3 }, problems: {} });
    expect(termsOf(form({ priority: "3", setup: "2" }), readTime).problems).toHaveProperty("setup");
    const volume = form({ kind: "volume", volume: "1", end: "5000", setup: "2" });
    expect(termsOf(volume, readTime).terms).not.toHaveProperty("setupPriority");
  });

  test("are those of the form", () => {
    const { terms, problems } = termsOf(
      form({ start: "1000", end: "5000", delay: "2.5", protection: Protection.NODE_DISJOINT, description: " x " }),
      readTime,
    );
    expect(problems).toEqual({});
    expect(create(TermsSchema, terms)).toMatchObject({
      project: "climate",
      from: "WR",
      to: "ER",
      rateBitsPerSecond: 5_000_000n,
      volumeBytes: 0n,
      start: timestampFromMs(1000),
      end: timestampFromMs(5000),
      maxDelayMicroseconds: 2500n,
      protection: Protection.NODE_DISJOINT,
      description: "x",
    });
  });

  test("of a volume have a deadline, and no backup", () => {
    const volume = form({
      kind: "volume",
      volume: "20",
      volumeUnit: "TB",
      rate: "",
      protection: Protection.LINK_DISJOINT,
    });
    expect(Object.keys(termsOf(volume, readTime).problems)).toEqual(["end"]);
    const { terms, problems } = termsOf({ ...volume, end: "5000" }, readTime);
    expect(problems).toEqual({});
    expect(terms).toMatchObject({ volumeBytes: 20_000_000_000_000n, rateBitsPerSecond: 0n, protection: 0 });
  });

  test("have pairs of prefixes, one a line", () => {
    const read = (pairs: string) => termsOf(form({ pairs }), readTime);
    expect(read("192.0.2.0/24 198.51.100.0/24\n\n2001:db8::/64 → 2001:db8:1::/64").terms.pairs).toEqual([
      { source: "192.0.2.0/24", destination: "198.51.100.0/24" },
      { source: "2001:db8::/64", destination: "2001:db8:1::/64" },
    ]);
    expect(read("192.0.2.0/24").problems.pairs).toMatch(/^Line 1/);
  });

  test.each<[string, Partial<CircuitForm>, string]>([
    ["no project", { project: " " }, "project"],
    ["no source", { from: "" }, "from"],
    ["both ends the same", { to: "WR" }, "to"],
    ["no rate", { rate: "" }, "rate"],
    ["a rate of 0", { rate: "0.0" }, "rate"],
    ["a rate that is none", { rate: "fast" }, "rate"],
    ["no volume", { kind: "volume", end: "5000" }, "volume"],
    ["an end before the start", { start: "5000", end: "4000" }, "end"],
    ["a time that is none", { start: "x" }, "start"],
    ["a delay that is none", { delay: "-1" }, "delay"],
  ])("miss %s", (_name, part, field) => {
    expect(Object.keys(termsOf(form(part), readTime).problems)).toEqual([field]);
  });
});

describe("an offer that is taken", () => {
  test.each([
    ["a rate", { rateBitsPerSecond: 34_999_999n, start: timestampFromMs(1000), end: timestampFromMs(9000) }],
    ["an open end", { rateBitsPerSecond: 2_500_000_000n, start: timestampFromMs(1000) }],
    [
      "a volume",
      {
        volumeBytes: 20_000_000_000_001n,
        rateBitsPerSecond: 5n,
        start: timestampFromMs(0),
        end: timestampFromMs(9000),
      },
    ],
    ["a delay", { rateBitsPerSecond: 7n, maxDelayMicroseconds: 12_345n, protection: Protection.LINK_DISJOINT }],
  ])("with %s asks for exactly that", (_name, part) => {
    const offered = create(TermsSchema, { project: "climate", from: "WR", to: "ER", ...part });
    const filled = formOf(offered, form({ rate: "45", start: "1", end: "2", delay: "9" }), writeTime);
    const { terms, problems } = termsOf(filled, readTime);
    expect(problems).toEqual({});
    expect(create(TermsSchema, terms)).toEqual(offered);
  });
});
