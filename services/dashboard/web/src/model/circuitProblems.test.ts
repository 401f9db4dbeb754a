import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PathTermsSchema, RefusalSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { refusedField } from "./circuitProblems";

const refused = (field: string, reason: string) => refusedField(create(RefusalSchema, { field, reason }));

test.each([
  ["apart_from", 'apart_from: there is no circuit "c9"', { apartFrom: 'there is no circuit "c9"' }],
  ["path.without_links", 'path.without_links: there is no link "l"', { withoutLinks: 'there is no link "l"' }],
  ["terms[0].to", "terms[0].to: there is no router x", { to: "there is no router x" }],
  ["project", "ann is no member of a project chess", { project: "ann is no member of a project chess" }],
  ["version", "version: read it again", {}],
  ["", "no path has room", {}],
])("a refusal of %s is at its field", (field, reason, want) => {
  expect(refused(field, reason)).toEqual(want);
});

test("there is a field of the form for all that a path may want", () => {
  const without = PathTermsSchema.fields.map((f) => f.name).filter((f) => Object.keys(refused(f, "")).length === 0);
  expect(without).toEqual([]);
  expect(refusedField(undefined)).toEqual({});
});
