import { expect, test } from "vitest";
import { ChangeService } from "../gen/millrace/push/v1/push_pb";
import { Role } from "../gen/millrace/rights/v1/rights_pb";
import { procedureOf, refusalsOf } from "./permissions";

test("a call of a descriptor is the procedure of its path", () => {
  expect(procedureOf(ChangeService.method.listFreezes)).toBe("/millrace.push.v1.ChangeService/ListFreezes");
});

test("a refusal names the role that is needed, and another reason as the service says it", () => {
  const refusals = refusalsOf(
    [
      { procedure: "/p.S/Read", needs: Role.VIEWER, refused: "" },
      {
        procedure: "/p.S/Approve",
        needs: Role.APPROVER,
        refused: "/p.S/Approve needs the role approver; ann is operator",
      },
      { procedure: "/p.S/Create", needs: Role.OPERATOR, refused: "/p.S/Create is about a policy" },
    ],
    Role.OPERATOR,
  );
  expect([...refusals]).toEqual([
    ["/p.S/Approve", "Needs the role approver; you are operator"],
    ["/p.S/Create", "/p.S/Create is about a policy"],
  ]);
});
