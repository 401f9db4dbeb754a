import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EvidenceSchema, PairSchema } from "../gen/millrace/alpha/v1/alpha_pb";
import { type ExporterQuality, ExporterQualitySchema, Source } from "../gen/millrace/flow/v1/flow_pb";
import { concerns, samplingText } from "./exporters";
import { evidenceOf, overThreshold, protocolText, strongest, tagsOf } from "./pairs";

const good = { source: Source.NETFLOW_V9, templates: 3, samplingRate: 1n, lossRatio: 0 };
const exporter = (part: Partial<ExporterQuality>) =>
  create(ExporterQualitySchema, { ...good, ...part } as ExporterQuality);

test.each<[string, Partial<ExporterQuality>, string[]]>([
  ["a good exporter", {}, []],
  ["one that samples, but says so", { samplingRate: 100n }, []],
  ["one of unknown sampling", { samplingRate: 0n }, ["sampling rate unknown"]],
  ["one that said its rate late", { unknownRate: 1200n }, ["1 200 records without a sampling rate"]],
  [
    "one that never says it",
    { samplingRate: 0n, unknownRate: 7n },
    ["sampling rate unknown", "7 records without a sampling rate"],
  ],
  ["v9 before its template", { templates: 0 }, ["no template yet"]],
  ["v5, which has no templates", { source: Source.NETFLOW_V5, templates: 0 }, []],
  ["a little loss", { lossRatio: 0.01 }, []],
  ["more loss", { lossRatio: 0.043 }, ["loses 4.3 %"]],
  [
    "drops, named and counted",
    { drops: { truncated: 1n, "no-template": 1200n, none: 0n } },
    ["1 200 dropped: no-template", "1 dropped: truncated"],
  ],
])("concerns about %s", (_name, part, want) => {
  expect(concerns(exporter(part))).toEqual(want);
});

test("sampling reads as people say it", () => {
  expect([0n, 1n, 1000n].map(samplingText)).toEqual(["unknown", "none", "1 in 1 000"]);
});

test("evidence stands newest first, and the strongest is the one with most bytes", () => {
  const at = (seconds: number, bytes: number) =>
    create(EvidenceSchema, { intervalStart: { seconds: BigInt(seconds) }, bytes: BigInt(bytes), minBytes: 10n });
  const pair = create(PairSchema, { evidence: [at(60, 30), at(180, 20), at(120, 40)] });
  expect(evidenceOf(pair).map((e) => Number(e.bytes))).toEqual([20, 40, 30]);
  const top = strongest(pair);
  expect(top && overThreshold(top)).toBe(4);
  expect(strongest(create(PairSchema))).toBeUndefined();
  expect(overThreshold(create(EvidenceSchema, { bytes: 1n }))).toBeUndefined();
});

test("protocols have their names", () => {
  expect([6, 17, 200].map(protocolText)).toEqual(["TCP", "UDP", "protocol 200"]);
});

test("whose a pair's flows were is shares of all that it sent", () => {
  const pair = create(PairSchema, {
    sentBytes: 200n,
    tags: [
      { communityName: "atlas", activity: 19, activityName: "Staging", bytes: 150n },
      { communityName: "7", activityName: "0", bytes: 10n },
    ],
  });
  expect(tagsOf(pair)).toEqual([
    { name: "atlas/Staging", share: 0.75 },
    { name: "7", share: 0.05 },
  ]);
  expect(tagsOf(create(PairSchema))).toEqual([]);
});
