import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PortSchema } from "../gen/millrace/split/v1/split_pb";
import { byNeed, shareText, toneOf } from "./split";

const port = (rule: string, share = 5, should = 5) => create(PortSchema, { rule, share, should });

test("a port that is left alone is bad, one that waits is waiting, one that moves is busy", () => {
  expect(
    ["held", "frozen", "unread", "no-queues", "open", "wait-low", "raise-now", "lower", "keep", "off"].map((r) =>
      toneOf(port(r)),
    ),
  ).toEqual(["bad", "bad", "bad", "bad", "waiting", "waiting", "busy", "busy", "good", "good"]);
});

test("ports that should move furthest come first, and the list itself stays as it is", () => {
  const list = [port("keep"), port("lower", 40, 20), port("raise-now", 5, 60)];
  expect(byNeed(list).map((p) => p.rule)).toEqual(["raise-now", "lower", "keep"]);
  expect(list[0]?.rule).toBe("keep");
});

test("a port without queues has no share", () => {
  expect([0, 5, 60].map(shareText)).toEqual(["–", "5 %", "60 %"]);
});
