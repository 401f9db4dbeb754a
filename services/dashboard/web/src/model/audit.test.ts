import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Kind, ListResponseSchema, RecordSchema } from "../gen/millrace/audit/v1/audit_pb";
import { callText, emptyAuditLog, newest, resultText, resultTone, whoText, withOlder } from "./audit";

const record = (seq: number, more: object = {}) => create(RecordSchema, { seq: BigInt(seq), ...more });
const answer = (before: number, ...seqs: number[]) =>
  create(ListResponseSchema, { before: BigInt(before), records: seqs.map((seq) => record(seq)) });
const seqs = (log: { records: readonly { seq: bigint }[] }) => log.records.map((r) => Number(r.seq));

test("newest records stand before older ones that were loaded", () => {
  const first = newest(emptyAuditLog, answer(4, 6, 5, 4));
  expect([seqs(first), first.before]).toEqual([[6, 5, 4], 4n]);
  const older = withOlder(first, answer(0, 3, 2));
  expect([seqs(older), older.before]).toEqual([[6, 5, 4, 3, 2], 0n]);
  const again = newest(older, answer(5, 7, 6, 5));
  expect([seqs(again), again.before]).toEqual([[7, 6, 5, 4, 3, 2], 0n]);
});

test("a call that has ended is no longer there as begun", () => {
  const known = newest(emptyAuditLog, answer(0, 3, 2));
  expect(seqs(newest(known, answer(0, 4, 2)))).toEqual([4, 2]);
});

test("between what is known and what is new nothing is left out", () => {
  const known = newest(emptyAuditLog, answer(0, 3, 2));
  const after = newest(known, answer(8, 9, 8));
  expect([seqs(after), after.before]).toEqual([[9, 8], 8n]);
  expect(seqs(newest(known, answer(0)))).toEqual([]);
});

test("a record says who, what and what came of it", () => {
  expect(callText("/millrace.push.v1.ChangeService/Approve")).toBe("ChangeService/Approve");
  expect(callText("/metrics")).toBe("/metrics");
  expect(whoText(record(1))).toBe("nobody");
  expect(whoText(record(1, { user: "ann", credentialKind: "session" }))).toBe("ann");
  expect(whoText(record(1, { user: "ann", credentialKind: "token", credential: "k3" }))).toBe("ann, token k3");
  expect(whoText(record(1, { user: "alpha", credentialKind: "service", onBehalf: "ann" }))).toBe(
    "alpha, service, for ann",
  );
  const refused = record(1, { kind: Kind.REFUSED, result: "permission_denied", refusal: "role" });
  expect([resultText(refused), resultTone(refused)]).toEqual(["permission_denied (role)", "bad"]);
  const ended = record(1, { kind: Kind.ENDED, result: "ok" });
  expect([resultText(ended), resultTone(ended)]).toEqual(["ok", "good"]);
  const begun = record(1, { kind: Kind.BEGUN });
  expect([resultText(begun), resultTone(begun)]).toEqual(["no result recorded", "waiting"]);
  const dropped = record(1, { kind: Kind.DROPPED, droppedSeq: 7n });
  expect([resultText(dropped), resultTone(dropped)]).toEqual(["records up to 7 dropped", "neutral"]);
});
