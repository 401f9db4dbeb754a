// What keeps a change set from being sent, in sentences: who must approve it, the nightly budget, the maintenance
// window and the freeze switch.
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import { type ChangeSet, State } from "../gen/millrace/push/v1/push_pb";
import { type Action, actionTitles, atOnce, stateRow } from "./changes";

/** How many persons must approve it; a change set from before there were rules needs one. */
const persons = (c: ChangeSet): number => c.approvalRule?.persons ?? 1;

/** How many persons still must. */
export const missingApprovals = (c: ChangeSet): number =>
  c.state === State.PLANNED ? Math.max(persons(c) - c.approvals.length, 0) : 0;

const words = ["nobody", "one person", "two persons"];

/** Who must approve it, in words. */
export function ruleText(c: ChangeSet): string {
  const count = persons(c);
  if (count === 0) return "automatic: nobody is asked (rule auto)";
  const rule = words[count] ?? `${count} persons`;
  return c.approvalRule?.otherThanAuthor ? `${rule}, other than the author ${c.author}` : rule;
}

/** Compares names as the push service does. */
const same = (a: string, b: string) => a.trim().toLowerCase() === b.trim().toLowerCase();

/** Why this person may not approve it; the push service refuses for the same reasons. */
export function approvalRefusal(c: ChangeSet, by: string): string | undefined {
  if (by.trim() === "") return undefined;
  if (c.approvalRule?.otherThanAuthor && same(c.author, by))
    return `${by.trim()} asked for it, and somebody else must approve.`;
  if (c.approvals.some((a) => same(a.by, by)))
    return `${by.trim()} has approved it already, and another person must (${c.approvals.length} of ${persons(c)} have).`;
  return undefined;
}

/** Why this person may not take the action. */
export const actionRefusal = (c: ChangeSet, action: Action, by: string): string | undefined =>
  action === "approve" ? approvalRefusal(c, by) : undefined;

const countOf = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;

/** How much it changes. */
export function sizeText(c: ChangeSet): string | undefined {
  if (!c.size) return undefined;
  const { entries, routers, lsps } = c.size;
  const parts = [countOf(entries, "config entry", "config entries"), countOf(routers, "router", "routers")];
  if (lsps > 0) parts.push(countOf(lsps, "LSP", "LSPs"));
  return parts.join(", ");
}

/** What a scheduled change set waits for, from its history. */
export const waitsFor = (c: ChangeSet): string | undefined =>
  c.state === State.SCHEDULED ? c.history.findLast((t) => t.state === State.SCHEDULED)?.note || undefined : undefined;

/** The freeze of one router, or of all. */
export const freezeAt = (freezes: readonly Freeze[], router: string): Freeze | undefined =>
  freezes.find((f) => f.router === "" || f.router === router);

/** The freeze that keeps a change set from being sent: one of its routers is enough. */
export const freezeOf = (freezes: readonly Freeze[], c: ChangeSet): Freeze | undefined =>
  stateRow(c.state)?.progress === "settled"
    ? undefined
    : (freezes.find((f) => f.router === "") ?? freezes.find((f) => c.devices.some((d) => d.device === f.router)));

/** What is frozen. */
export const frozenText = (f: Freeze): string => (f.router ? `Router ${f.router} is frozen` : "All routers are frozen");

/** What is frozen, in a word or two for the head of the page. */
export const frozenShort = (freezes: readonly Freeze[]): string =>
  freezes.some((f) => f.router === "") ? "all" : String(freezes.length);

/** The label of an action's button: an approval that is not the last one applies nothing. */
export const titleOf = (c: ChangeSet, action: Action): string =>
  action === "approve" && missingApprovals(c) > 1 ? "Approve" : actionTitles[action];

function abortEffect(s: State): string {
  switch (s) {
    case State.DRAFT:
    case State.PLANNED:
    case State.APPROVED:
      return "It ends here: nothing was sent to a router, and nothing will be.";
    case State.SCHEDULED:
      return "It waits no longer, and stays approved until somebody applies it.";
    default:
      return "No further router is sent its part; those that have theirs are rolled back.";
  }
}

/** What happens when an operator takes the action on this change set. */
export function effectOf(c: ChangeSet, action: Action): string {
  if (action === "approve" && missingApprovals(c) > 1) return "Nothing is sent yet: another person must approve, too.";
  switch (action) {
    case "rollback":
      return "Every router returns to the config it had before this change set.";
    case "abort":
      return abortEffect(c.state);
    default:
      return c.canary
        ? `Router ${c.canary} is changed now and watched; if it keeps its SLO the others follow, else it rolls back. Outside of the maintenance window it waits.`
        : atOnce;
  }
}
