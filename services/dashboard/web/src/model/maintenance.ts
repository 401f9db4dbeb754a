// Maintenance: links or routers that are out for a while, as planned in a form, and which circuits it hits.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AddMaintenanceRequestSchema,
  Fate,
  type Maintenance,
  type MaintenanceHit,
} from "../gen/millrace/circuits/v1/circuits_pb";
import type { TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import type { Label } from "./changes";
import { type RateUnit, type ReadTime, rateDecimals } from "./circuitForm";
import { type LinkNames, pathText, rateOf } from "./circuits";
import { scaledUp } from "./decimal";
import { millisOf } from "./strip";

export interface MaintenanceForm {
  /** That of a ticket. */
  id: string;
  links: readonly string[];
  routers: readonly string[];
  /** What each link has meanwhile; empty: nothing. */
  left: string;
  leftUnit: RateUnit;
  /** Local times as a browser's field has them; no start: now. */
  start: string;
  end: string;
  reason: string;
}

export const emptyMaintenance: MaintenanceForm = {
  id: "",
  links: [],
  routers: [],
  left: "",
  leftUnit: "Mbit/s",
  start: "",
  end: "",
  reason: "",
};

export type MaintenanceField = keyof MaintenanceForm;
export type MaintenanceProblems = Partial<Record<MaintenanceField, string>>;
export type MaintenanceInit = MessageInitShape<typeof AddMaintenanceRequestSchema>;

const mostNames = 100;

/** What the form plans, and the fields that are wrong or missing: the rules of the service, which checks them again. */
export function maintenanceOf(
  form: MaintenanceForm,
  readTime: ReadTime,
): { plan: MaintenanceInit; problems: MaintenanceProblems } {
  const problems: MaintenanceProblems = {};
  const [start, end] = [readTime(form.start), readTime(form.end)];
  const left = form.left.trim() === "" ? 0n : scaledUp(form.left, rateDecimals[form.leftUnit]);
  const check = (field: MaintenanceField, wrong: boolean, what: string) => {
    if (wrong && !problems[field]) problems[field] = what;
  };
  check("id", form.id.trim() === "", "Which ticket?");
  check("id", !/^[\w.-]{1,64}$/.test(form.id.trim()), "Write 1 to 64 letters, digits, '.', '_' or '-'.");
  check("links", form.links.length + form.routers.length === 0, "Which links or routers?");
  check("links", form.links.length > mostNames, `${form.links.length} are more than ${mostNames}.`);
  check("routers", form.routers.length > mostNames, `${form.routers.length} are more than ${mostNames}.`);
  check("left", left === undefined, "Write a number such as 2.5.");
  check("left", left !== 0n && form.routers.length > 0, "A router that is out leaves nothing of its links.");
  check("start", form.start !== "" && Number.isNaN(start), "This is no time.");
  check("end", form.end === "", "When is it over?");
  check("end", Number.isNaN(end), "This is no time.");
  check("end", form.start !== "" && end <= start, "The end must be after the start.");
  check("reason", form.reason.trim() === "", "Why?");
  const plan: MaintenanceInit = {
    id: form.id.trim(),
    links: [...form.links],
    routers: [...form.routers],
    leftBitsPerSecond: left ?? 0n,
    reason: form.reason.trim(),
    ...(form.start !== "" && !problems.start && { start: timestampFromMs(start) }),
    ...(!problems.end && { end: timestampFromMs(end) }),
  };
  return { plan, problems };
}

/** Whether it is still to come, is now, or takes nothing any more. */
export function maintenanceLabel(m: Maintenance, now: number): Label {
  if (m.removed) return { text: "removed", tone: "neutral" };
  if (m.end && millisOf(m.end) <= now) return { text: "over", tone: "neutral" };
  return m.start && millisOf(m.start) > now
    ? { text: "planned", tone: "waiting" }
    : { text: "under way", tone: "busy" };
}

/** Whether it takes anything from now on. */
export const maintenanceOpen = (m: Maintenance, now: number): boolean =>
  !m.removed && (!m.end || millisOf(m.end) > now);

/** What is out. A link is named once, though both directions are. */
export function outText(m: Maintenance, pairName: LinkNames, routerName: (id: string) => string): string {
  const routers = m.routers.map((r) => `router ${routerName(r)}`);
  const links = [...new Set(m.links.map(pairName))];
  const left = m.leftBitsPerSecond > 0n ? `, but for ${rateOf(m.leftBitsPerSecond)}` : "";
  return `${[...routers, ...links].join(", ")}${left}`;
}

export interface LinkPair {
  /** The id of one direction, which stands for both. */
  id: string;
  name: string;
}

/** Links with both directions as one. */
export function linkPairs(snapshot: TopologySnapshot | undefined, linkName: LinkNames): LinkPair[] {
  const links = snapshot?.links ?? [];
  const back = new Map(links.map((l) => [`${l.localRouterId} ${l.remoteRouterId} ${l.localAddress}`, l.id]));
  return links.flatMap((l) => {
    const other = back.get(`${l.remoteRouterId} ${l.localRouterId} ${l.remoteAddress}`);
    return other !== undefined && other < l.id ? [] : [{ id: l.id, name: linkName(l.id).replace(" → ", " – ") }];
  });
}

/** Names of links by the id of either direction. */
export function pairNames(snapshot: TopologySnapshot | undefined, linkName: LinkNames): LinkNames {
  const links = new Map((snapshot?.links ?? []).map((l) => [l.id, l]));
  const pairs = new Map(
    linkPairs(snapshot, linkName).map((p) => {
      const l = links.get(p.id);
      return [`${l?.remoteRouterId} ${l?.localRouterId} ${l?.remoteAddress}`, p.name];
    }),
  );
  return (id) => {
    const l = links.get(id);
    return (
      pairs.get(`${l?.localRouterId} ${l?.remoteRouterId} ${l?.localAddress}`) ?? linkName(id).replace(" → ", " – ")
    );
  };
}

const fates: Record<Fate, Label> = {
  [Fate.UNSPECIFIED]: { text: "looked at later", tone: "neutral" },
  [Fate.MOVES]: { text: "moves", tone: "good" },
  [Fate.BACKUP]: { text: "takes its backup", tone: "good" },
  [Fate.HOLDS]: { text: "stays: it is to wait", tone: "waiting" },
  [Fate.STAYS]: { text: "stays: no other path", tone: "bad" },
  [Fate.UNPROTECTED]: { text: "stays: only its backup is hit", tone: "waiting" },
  [Fate.BUSY]: { text: "looked at when its change set has ended", tone: "busy" },
};

export const fateLabel = (f: Fate): Label => fates[f] ?? fates[Fate.UNSPECIFIED];

/** What becomes of a circuit that is hit: its other path, or why it has none. */
export const hitText = (h: MaintenanceHit, routerName: (id: string) => string): string =>
  h.path.length > 0 ? `to ${pathText(h.path, routerName)}` : (h.refusal?.reason ?? "");

/** How many circuits have to leave, and how many cannot. */
export function hitsText(hits: readonly MaintenanceHit[], omitted: number): string {
  const all = hits.length + omitted;
  if (all === 0) return "It hits no circuit.";
  const stay = hits.filter((h) => [Fate.STAYS, Fate.HOLDS].includes(h.fate)).length;
  return `It hits ${all} ${all === 1 ? "circuit" : "circuits"}${stay > 0 ? `, ${stay} of which ${stay === 1 ? "stays" : "stay"}` : ""}.`;
}
