import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  Every,
  Metric,
  PrefixPairSchema,
  ProposalSchema,
  Protection,
  TermsSchema,
} from "../gen/millrace/circuits/v1/circuits_pb";
import { batchOf, type CircuitForm, emptyForm, formOf, pairLine, proposedForm, termsOf } from "./circuitForm";

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

  test("of what others leave have no rate, and no setup priority", () => {
    const { terms, problems } = termsOf(form({ kind: "scavenger", setup: "2" }), readTime);
    expect(problems).toEqual({});
    expect(create(TermsSchema, terms)).toMatchObject({ scavenger: true, rateBitsPerSecond: 0n, volumeBytes: 0n });
    expect(terms).not.toHaveProperty("setupPriority");
  });

  test("may be above the soft cap", () => {
    const { terms, problems } = termsOf(form({ aboveSoftCap: true }), readTime);
    expect([terms.aboveSoftCap, problems]).toEqual([true, {}]);
  });

  test("say what the path is to be like", () => {
    const { terms, problems } = termsOf(
      form({
        metric: Metric.DELAY,
        hops: "4",
        via: "CR, X",
        without: "Y",
        withoutLinks: ["l1", "l2"],
        apartFrom: ["c1"],
        includeAny: "1 2",
        includeAll: "63",
        exclude: "0,3",
        excludeRiskGroups: "70",
      }),
      readTime,
    );
    expect(problems).toEqual({});
    expect(terms).toMatchObject({
      metric: Metric.DELAY,
      maxHops: 4,
      via: ["CR", "X"],
      withoutRouters: ["Y"],
      withoutLinks: ["l1", "l2"],
      apartFrom: ["c1"],
      includeAny: [1, 2],
      includeAll: [63],
      exclude: [0, 3],
      excludeRiskGroups: [70],
    });
  });

  test("are requested for several windows by the clock of a zone", () => {
    expect(batchOf(form({}), "Europe/Berlin")).toBeUndefined();
    const nightly = form({ every: Every.DAY, times: "14", start: "1000", end: "5000" });
    expect(termsOf(nightly, readTime).problems).toEqual({});
    expect(batchOf(nightly, "Europe/Berlin")).toEqual({
      repeat: { every: Every.DAY, times: 14, timeZone: "Europe/Berlin" },
    });
  });

  test("are requested over several paths, where they are a volume", () => {
    expect(batchOf(form({ kind: "volume", paths: "3" }), "UTC")).toEqual({ maxPaths: 3 });
    expect(batchOf(form({ kind: "volume" }), "UTC")).toBeUndefined();
    expect(batchOf(form({ paths: "3" }), "UTC")).toBeUndefined();
  });

  test("have pairs of prefixes, one a line", () => {
    const read = (pairs: string) => termsOf(form({ pairs }), readTime);
    const lines = "192.0.2.0/24 198.51.100.0/24\n\n2001:db8::/64 → 2001:db8:1::/64, udp\na b tcp any 5000-5100";
    const all = { protocol: "", sourcePorts: "", destinationPorts: "" };
    const pairs = [
      { ...all, source: "192.0.2.0/24", destination: "198.51.100.0/24" },
      { ...all, source: "2001:db8::/64", destination: "2001:db8:1::/64", protocol: "udp" },
      { source: "a", destination: "b", protocol: "tcp", sourcePorts: "", destinationPorts: "5000-5100" },
    ];
    expect(read(lines).terms.pairs).toEqual(pairs);
    expect(pairs.map((p) => pairLine(create(PrefixPairSchema, p)))).toEqual([
      "192.0.2.0/24 198.51.100.0/24",
      "2001:db8::/64 2001:db8:1::/64 udp",
      "a b tcp any 5000-5100",
    ]);
    expect(read("a b tcp 1 2 3").problems.pairs).toMatch(/^Line 1/);
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
    ["a number of links that is none", { hops: "0" }, "hops"],
    ["256 links", { hops: "256" }, "hops"],
    ["a group that is none", { exclude: "3, leased" }, "exclude"],
    ["group 64", { includeAny: "64" }, "includeAny"],
    ["a group that is wanted and not", { includeAll: "3", exclude: "1 3" }, "exclude"],
    ["a router that is to be passed and avoided", { via: "CR", without: "CR" }, "via"],
    ["one time only", { every: Every.WEEK, times: "1", start: "1000", end: "5000" }, "times"],
    ["61 times", { every: Every.DAY, times: "61", start: "1000", end: "5000" }, "times"],
    [
      "one window, of a volume over several paths",
      { kind: "volume", volume: "1", paths: "2", every: Every.DAY, start: "1000", end: "5000" },
      "every",
    ],
    ["a window that is repeated and open", { every: Every.DAY, start: "1000" }, "every"],
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
    ["a scavenger", { scavenger: true, start: timestampFromMs(0) }],
    [
      "a path",
      {
        rateBitsPerSecond: 7n,
        metric: Metric.TE,
        maxHops: 3,
        via: ["CR"],
        withoutRouters: ["X", "Y"],
        withoutLinks: ["l1"],
        apartFrom: ["c1", "c2"],
        exclude: [3, 9],
      },
    ],
    ["what is above the soft cap", { rateBitsPerSecond: 7n, aboveSoftCap: true }],
    ["a delay", { rateBitsPerSecond: 7n, maxDelayMicroseconds: 12_345n, protection: Protection.LINK_DISJOINT }],
  ])("with %s asks for exactly that", (_name, part) => {
    const offered = create(TermsSchema, { project: "climate", from: "WR", to: "ER", ...part });
    const filled = formOf(offered, form({ rate: "45", start: "1", end: "2", delay: "9" }), writeTime);
    const { terms, problems } = termsOf(filled, readTime);
    expect(problems).toEqual({});
    expect(create(TermsSchema, terms)).toEqual(offered);
  });
});

test("a proposal fills in what it is for and nothing else, whatever the form had", () => {
  const terms = create(TermsSchema, {
    project: "climate",
    from: "CR",
    to: "WR",
    rateBitsPerSecond: 12_000_000n,
    start: timestampFromMs(1000),
    end: timestampFromMs(9000),
    pairs: [{ source: "192.0.2.0/24", destination: "198.51.100.0/24" }],
    description: "of a pair",
  });
  const filled = proposedForm(create(ProposalSchema, { terms }), writeTime);
  expect(batchOf(filled ?? form({ every: Every.DAY }), "UTC")).toBeUndefined();
  expect(create(TermsSchema, termsOf(filled ?? emptyForm, readTime).terms)).toEqual(terms);
  expect(proposedForm(create(ProposalSchema, { problem: "?" }), writeTime)).toBeUndefined();
});
