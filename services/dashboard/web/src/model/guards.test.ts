import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ApprovalRuleSchema, ApprovalSchema, FreezeSchema } from "../gen/millrace/push/v1/guard_pb";
import { type ChangeSet, DeviceState, State, TransitionSchema } from "../gen/millrace/push/v1/push_pb";
import {
  actionRefusal,
  approvalRefusal,
  effectOf,
  freezeAt,
  freezeOf,
  frozenShort,
  missingApprovals,
  ruleText,
  titleOf,
  waitsFor,
} from "./guards";
import { changeSet } from "./testing";

function ruled(persons: number, otherThanAuthor: boolean, approvedBy: string[] = []): ChangeSet {
  const c = changeSet("c1", State.PLANNED, 1, [{ device: "CR", state: DeviceState.PLANNED }]);
  c.author = "m.chen";
  c.approvalRule = create(ApprovalRuleSchema, { persons, otherThanAuthor });
  c.approvals = approvedBy.map((by) => create(ApprovalSchema, { by }));
  return c;
}

test("who must approve is said in words", () => {
  expect(ruleText(changeSet("c1", State.PLANNED, 1))).toBe("one person");
  expect(ruleText(ruled(0, false))).toContain("rule auto");
  expect(ruleText(ruled(1, true))).toBe("one person, other than the author m.chen");
  expect(ruleText(ruled(2, false))).toBe("two persons");
  expect(ruleText(ruled(5, false))).toBe("5 persons");
});

describe("an approval", () => {
  test.each([
    ["of the author", ruled(1, true), " M.Chen ", "M.Chen asked for it, and somebody else must approve."],
    ["of the author, who may", ruled(1, false), "m.chen", undefined],
    ["of somebody else", ruled(1, true), "j.ruiz", undefined],
    [
      "of the same person again",
      ruled(2, true, ["j.ruiz"]),
      "J.RUIZ",
      "J.RUIZ has approved it already, and another person must (1 of 2 have).",
    ],
    ["of nobody yet", ruled(2, true, ["j.ruiz"]), "  ", undefined],
  ])("%s", (_name, change, by, want) => {
    expect(approvalRefusal(change, by)).toBe(want);
  });

  test("is the only action with persons who may not", () => {
    expect(actionRefusal(ruled(1, true), "abort", "m.chen")).toBeUndefined();
    expect(actionRefusal(ruled(1, true), "approve", "m.chen")).toBeDefined();
  });

  test("that is not the last applies nothing, and the button does not say so", () => {
    const first = ruled(2, false);
    expect(missingApprovals(first)).toBe(2);
    expect(titleOf(first, "approve")).toBe("Approve");
    expect(effectOf(first, "approve")).toMatch(/^Nothing is sent yet/);
    const last = ruled(2, false, ["j.ruiz"]);
    expect(titleOf(last, "approve")).toBe("Approve and apply");
    expect(effectOf(last, "approve")).toMatch(/commit confirmed/);
  });

  test("is needed by nobody once the change set is approved", () => {
    const c = ruled(2, false);
    c.state = State.VERIFIED;
    expect(missingApprovals(c)).toBe(0);
  });
});

test("a canary is named before it is changed", () => {
  const c = ruled(1, false);
  c.canary = "CR";
  expect(effectOf(c, "apply")).toMatch(/^Router CR is changed now and watched/);
});

test("only a scheduled change set waits, for what its history says", () => {
  const c = changeSet("c1", State.SCHEDULED, 1);
  expect(waitsFor(c)).toBeUndefined();
  c.history = [create(TransitionSchema, { state: State.SCHEDULED, note: "the maintenance window opens at 2" })];
  expect(waitsFor(c)).toBe("the maintenance window opens at 2");
  expect(effectOf(c, "abort")).toMatch(/stays approved/);
  c.state = State.VERIFIED;
  expect(waitsFor(c)).toBeUndefined();
});

describe("a freeze", () => {
  const one = create(FreezeSchema, { router: "CR", by: "a" });
  const all = create(FreezeSchema, { router: "", by: "b" });
  const other = create(FreezeSchema, { router: "WR", by: "c" });

  test("of one router stops a change set that has a part for it", () => {
    expect(freezeOf([other, one], ruled(1, false))).toBe(one);
    expect(freezeOf([other], ruled(1, false))).toBeUndefined();
  });

  test("of all routers is named first, and stops nothing that is over", () => {
    const c = ruled(1, false);
    expect(freezeOf([one, all], c)).toBe(all);
    c.state = State.VERIFIED;
    expect(freezeOf([all], c)).toBeUndefined();
  });

  test("is on a router by its name, or on all", () => {
    expect(freezeAt([other], "WR")).toBe(other);
    expect(freezeAt([other], "CR")).toBeUndefined();
    expect(freezeAt([all, other], "CR")).toBe(all);
    expect(frozenShort([other, one])).toBe("2");
    expect(frozenShort([all, other])).toBe("all");
  });
});
