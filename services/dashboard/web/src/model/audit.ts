// Records of the audit log, as the page shows them.
import { Kind, type ListResponse, type Record } from "../gen/millrace/audit/v1/audit_pb";
import type { Tone } from "./changes";

export interface AuditFilter {
  /** Parts of names; empty: all. */
  user: string;
  procedure: string;
}

export interface AuditLog {
  /** Newest first. */
  records: readonly Record[];
  /** Where older ones begin; 0: there are none. */
  before: bigint;
}

export const emptyAuditLog: AuditLog = { records: [], before: 0n };

/** The newest records in the place of those that are known, and older ones that were loaded before. */
export function newest(known: AuditLog, answer: ListResponse): AuditLog {
  const oldest = answer.records.at(-1)?.seq;
  const newestKnown = known.records[0]?.seq;
  const gap = answer.before > 0n && oldest !== undefined && newestKnown !== undefined && newestKnown < oldest;
  if (oldest === undefined || gap) return { records: answer.records, before: answer.before };
  const older = known.records.filter((r) => r.seq < oldest);
  return {
    records: [...answer.records, ...older],
    before: older.length > 0 ? known.before : answer.before,
  };
}

/** An older page behind those that are known. */
export function withOlder(known: AuditLog, answer: ListResponse): AuditLog {
  return { records: [...known.records, ...answer.records], before: answer.before };
}

/** A call without its package; a page's path as it is. */
export const callText = (procedure: string): string => procedure.replace(/^\/millrace\.[a-z0-9.]+\.([A-Z])/, "$1");

/** Who made a call, and by what. */
export function whoText(r: Record): string {
  const who = r.user || "nobody";
  const by =
    r.credentialKind === "token"
      ? `${who}, token ${r.credential}`
      : r.credentialKind === "service"
        ? `${who}, service`
        : who;
  return r.onBehalf ? `${by}, for ${r.onBehalf}` : by;
}

/** What came of it. */
export function resultText(r: Record): string {
  if (r.kind === Kind.BEGUN) return "no result recorded";
  if (r.kind === Kind.DROPPED) return `records up to ${r.droppedSeq} dropped`;
  const result = r.result || "refused";
  return r.refusal ? `${result} (${r.refusal})` : result;
}

export function resultTone(r: Record): Tone {
  if (r.kind === Kind.BEGUN) return "waiting";
  if (r.kind === Kind.DROPPED) return "neutral";
  return r.result === "ok" ? "good" : "bad";
}
