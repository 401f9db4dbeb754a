import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type ListRequest, ListResponseSchema, RecordSchema } from "../gen/millrace/audit/v1/audit_pb";
import { AuditReader } from "./audit";

/** A log of so many records, of which an answer has three. */
function service(count: number) {
  const asked: Partial<ListRequest>[] = [];
  const list = async (q: Partial<ListRequest>) => {
    asked.push(q);
    const top = q.before ? Number(q.before) - 1 : count;
    const seqs = [top, top - 1, top - 2].filter((n) => n > 0);
    const records = seqs.map((n) => create(RecordSchema, { seq: BigInt(n) }));
    return create(ListResponseSchema, { records, before: top > 3 ? BigInt(top - 2) : 0n });
  };
  return { asked, reader: new AuditReader({ list } as never) };
}

const shown = (r: AuditReader) => r.log.get().data?.records.map((x) => Number(x.seq));

test("older pages are loaded on request, and another filter begins anew", async () => {
  const { asked, reader } = service(7);
  await reader.log.refresh();
  expect(shown(reader)).toEqual([7, 6, 5]);
  reader.older();
  await expect.poll(() => shown(reader)).toEqual([7, 6, 5, 4, 3, 2]);
  await reader.log.refresh();
  expect(shown(reader)).toEqual([7, 6, 5, 4, 3, 2]);
  reader.select({ user: "ann", procedure: "" });
  await expect.poll(() => shown(reader)).toEqual([7, 6, 5]);
  expect(asked.at(-1)).toMatchObject({ user: "ann", procedure: "", limit: 100 });
  const before = asked.length;
  reader.select({ user: "ann", procedure: "" });
  expect(asked.length).toBe(before);
});
