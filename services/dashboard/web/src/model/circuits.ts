// Circuits in words: their states, windows, paths, and why one does not fit.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type Blocker,
  type Circuit,
  type Displaced,
  Excess,
  type Hop,
  type Offer,
  type PrefixPair,
  Protection,
  type Refusal,
  type Relaxation,
  type Slot,
  State,
  type Terms,
} from "../gen/millrace/circuits/v1/circuits_pb";
import type { Link, TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import type { Label } from "./changes";
import { bitsPerSecond, formatBytes, formatRate, formatSpan } from "./units";

const labels: Record<State, Label> = {
  [State.UNSPECIFIED]: { text: "unknown", tone: "bad" },
  [State.HELD]: { text: "held", tone: "waiting" },
  [State.COMMITTED]: { text: "committed", tone: "busy" },
  [State.SCHEDULED]: { text: "scheduled", tone: "busy" },
  [State.PROVISIONING]: { text: "provisioning", tone: "busy" },
  [State.ACTIVE]: { text: "active", tone: "good" },
  [State.INTERRUPTED]: { text: "interrupted", tone: "bad" },
  [State.RELEASING]: { text: "releasing", tone: "busy" },
  [State.RELEASED]: { text: "released", tone: "neutral" },
  [State.EXPIRED]: { text: "expired", tone: "neutral" },
  [State.CANCELLED]: { text: "cancelled", tone: "neutral" },
  [State.LAPSED]: { text: "lapsed", tone: "neutral" },
  [State.FAILED]: { text: "failed", tone: "bad" },
  [State.DEACTIVATING]: { text: "deactivating", tone: "busy" },
};

export const circuitLabel = (s: State): Label => labels[s] ?? labels[State.UNSPECIFIED];
export const circuitStateName = (s: State): string => State[s] ?? "UNSPECIFIED";

/** What a state means. */
const meanings: Record<State, string> = {
  [State.UNSPECIFIED]: "this page does not know the state",
  [State.HELD]: "its capacity is kept until the hold expires, unless it is committed before",
  [State.COMMITTED]: "it is booked; a link of its path is not known to be in the topology",
  [State.SCHEDULED]: "it is booked, and its path is there",
  [State.PROVISIONING]: "routers are being given it",
  [State.ACTIVE]: "routers were read to have it, and its path is there",
  [State.INTERRUPTED]: "routers have it, and its path is not known to be there",
  [State.RELEASING]: "routers are being rid of it; it has its capacity until they are",
  [State.RELEASED]: "no router has it",
  [State.EXPIRED]: "nobody committed it in time",
  [State.CANCELLED]: "it was given up before routers had it",
  [State.LAPSED]: "its end came, and no router was sent anything of it",
  [State.FAILED]: "no router has it, though it should be there",
  [State.DEACTIVATING]: "routers are being rid of it; it stays booked",
};

export function circuitMeaning(c: Circuit): string {
  const meaning = meanings[c.state] ?? meanings[State.UNSPECIFIED];
  return keptOff(c) ? `${meaning}; it is ${keptOffText} until somebody activates it` : meaning;
}

/** States in which a circuit has its capacity. */
export const bookedStates = [
  State.HELD,
  State.COMMITTED,
  State.SCHEDULED,
  State.PROVISIONING,
  State.ACTIVE,
  State.INTERRUPTED,
  State.DEACTIVATING,
  State.RELEASING,
];
export const endedStates = [State.RELEASED, State.EXPIRED, State.CANCELLED, State.LAPSED, State.FAILED];

/** Whether a link of its path is not known to be in the topology. */
export const pathMissing = (c: Circuit): boolean => c.state === State.COMMITTED || c.state === State.INTERRUPTED;

export const canCommit = (c: Circuit): boolean => c.state === State.HELD;
export const canRelease = (c: Circuit): boolean => bookedStates.includes(c.state) && c.state !== State.RELEASING;

/** Whether routers are not given it, though it is booked. */
export const keptOff = (c: Circuit): boolean => c.deactivated && canRelease(c);
export const keptOffText = "kept off routers";
export const canActivate = (c: Circuit): boolean => keptOff(c) && !canCommit(c);

/** Whether an operator of circuits has to commit it. */
export const needsOperator = (c: Circuit): boolean => canCommit(c) && c.terms?.aboveSoftCap === true;

/** Whether it may be modified, as far as its state says; the service knows more. */
export const canChange = (c: Circuit): boolean =>
  [State.HELD, State.COMMITTED, State.SCHEDULED, State.ACTIVE].includes(c.state);

/** Whether it may be moved to a better path. */
export const canReoptimise = (c: Circuit): boolean =>
  [State.COMMITTED, State.SCHEDULED, State.ACTIVE].includes(c.state) && c.terms?.volumeBytes === 0n;

/** The end of an id, which distinguishes ids of the same minute. */
export const shortId = (id: string): string => (id.length > 12 ? `…${id.slice(-8)}` : id);

/** What people call it: its description, else its ends. */
export const circuitTitle = (c: Circuit): string => c.terms?.description || `${c.terms?.from} → ${c.terms?.to}`;

export const rateOf = (bits: bigint): string => formatRate(bitsPerSecond(Number(bits)));

/** What the service books for a circuit of no guaranteed rate. */
export const scavengerRate = 1n;

const noRate = "no guaranteed rate";

/** The rate that is booked. */
export const bookedText = (bits: bigint): string => (bits === scavengerRate ? noRate : rateOf(bits));

/** What was requested: a rate, or a volume. */
export function askedText(t: Terms | undefined): string {
  if (!t) return "–";
  if (t.scavenger) return noRate;
  if (t.volumeBytes === 0n) return rateOf(t.rateBitsPerSecond);
  return `${formatBytes(t.volumeBytes)}${t.rateBitsPerSecond > 0n ? `, at most ${rateOf(t.rateBitsPerSecond)}` : ""}`;
}

export const excessText: Record<Excess, string> = {
  [Excess.UNSPECIFIED]: "stays in the circuits' queue",
  [Excess.QUEUE]: "stays in the circuits' queue",
  [Excess.DROP]: "is dropped",
  [Excess.BEST_EFFORT]: "is best effort",
};

export const protectionText: Record<Protection, string> = {
  [Protection.UNSPECIFIED]: "none",
  [Protection.LINK_DISJOINT]: "a backup that shares no link",
  [Protection.NODE_DISJOINT]: "a backup that shares no router",
};

export const delayText = (microseconds: bigint): string => {
  const ms = Number(microseconds) / 1000;
  return ms >= 1 ? `${Number(ms.toFixed(3))} ms` : `${microseconds} µs`;
};

type NameOf = (router: string) => string;

/** The routers along a path. */
export const routersAlong = (path: readonly Hop[]): string[] =>
  path.length === 0 ? [] : [path[0]?.from ?? "", ...path.map((h) => h.to)];

export const pathText = (path: readonly Hop[], nameOf: NameOf): string =>
  routersAlong(path).map(nameOf).join(" → ") || "–";

/** Times of day and dates as the page shows them; the caller has the time zone. */
export interface Clock {
  at: (t: Timestamp) => string;
  /** The end of a window, without the date where that is the start's. */
  until: (end: Timestamp, start: Timestamp | undefined) => string;
}

/** A window; without an end it is open. */
export function windowText(start: Timestamp | undefined, end: Timestamp | undefined, clock: Clock): string {
  const from = start ? clock.at(start) : "now";
  return end ? `${from} to ${clock.until(end, start)}` : `${from}, open-ended`;
}

/** First start and last end of what is booked. */
export const spanOf = (slots: readonly Slot[]): [Timestamp | undefined, Timestamp | undefined] => [
  slots[0]?.start,
  slots.at(-1)?.end,
];

/** What each code of a refusal means; the reason has the details. */
const refusals: Record<string, string> = {
  CAPACITY: "Does not fit: links lack room",
  NO_PATH: "No path: the network and what is excluded leave none, at any rate",
  NO_BACKUP: "No backup: there is a path with room, and no second one apart from it",
  RISK_GROUPS: "No path: all are over links of risk groups that are excluded",
  AFFINITY: "No path: none is of links of the groups that are wanted",
  LOOSE_HOPS: "No path: none passes the routers that are wanted, in their order",
  HOPS: "Too long: every path has more links than are allowed",
  SID_DEPTH: "Too many segments: no path is pinned by as few as are allowed",
  LATENCY: "Too slow: every path exceeds the delay that is allowed",
  SEARCH_BOUND: "Not known: the search was given up",
  QUOTA: "Beyond the quota of the project",
  POLICY: "Not allowed",
  OUTDATED: "Somebody has changed it meanwhile: look at it again",
  BAD_REQUEST: "The request is not right",
};

export const refusalTitle = (r: Refusal): string => refusals[r.code] ?? r.code;

/** A link by its ends; ids of links that have no other name stay. */
export type LinkNames = (link: string) => string;

/** Names of links: their ends, and the port where two links have the same. */
export function linkNames(snapshot: TopologySnapshot | undefined): LinkNames {
  const links = snapshot?.links ?? [];
  const name = (id: string) => snapshot?.nodes.find((n) => n.routerId === id)?.name || id;
  const ends = (l: Link) => `${name(l.localRouterId)} → ${name(l.remoteRouterId)}`;
  const count = new Map<string, number>();
  for (const l of links) count.set(ends(l), (count.get(ends(l)) ?? 0) + 1);
  const names = new Map(
    links.map((l) => [
      l.id,
      (count.get(ends(l)) ?? 0) > 1 ? `${ends(l)} (${l.localInterface || l.localAddress})` : ends(l),
    ]),
  );
  return (link) => names.get(link) ?? link;
}

export function blockerText(b: Blocker, linkName: LinkNames, clock: Clock): string {
  const maintained = b.maintenance.length > 0 ? ` (in maintenance: ${b.maintenance.join(", ")})` : "";
  return `${linkName(b.link)} lacks ${rateOf(b.shortfallBitsPerSecond)}, ${windowText(b.start, b.end, clock)}${maintained}`;
}

const perMille = (n: bigint): string => `${Number(n) / 10} %`;

/** An offer in words: what changes, and how much is lost. */
export function offerText(o: Offer, asked: Terms, clock: Clock): string {
  const t = o.terms;
  if (!t) return o.kind;
  const less = o.changePerMille > 0n ? ` (${perMille(o.changePerMille)} less)` : "";
  switch (o.kind) {
    case "LATER":
      return `The same, ${laterBy(asked.start, t.start)}: ${windowText(t.start, t.end, clock)}`;
    case "LESS_RATE":
      return `${rateOf(t.rateBitsPerSecond)} in the same window${less}`;
    case "SLOWER":
      return `Allow ${delayText(t.maxDelayMicroseconds)} of delay`;
    case "MORE_HOPS":
      return `Allow ${t.maxHops} links`;
    case "MORE_SIDS":
      return `Allow ${t.maxSids} segments`;
    case "NOT_VIA":
      return t.via.length > 0 ? `Only via ${t.via.join(", ")}` : "Whatever routers it passes";
    case "OTHER_GROUPS":
      return "Allow links of other groups";
    case "WITHOUT_BACKUP":
      return "The same without a backup";
    case "AS_VOLUME":
      return `The same ${formatBytes(t.volumeBytes)} as a volume, there by ${t.end ? clock.at(t.end) : "any time"}`;
    case "LATER_DEADLINE":
      return `The same volume, there by ${t.end ? clock.at(t.end) : "any time"}`;
    case "LESS_VOLUME":
      return `${formatBytes(t.volumeBytes)} by the same deadline${less}`;
    case "ABOVE_SOFT_CAP":
      return "The same above the soft cap: hold it, and an operator of circuits commits it";
    default:
      return `${o.kind}: ${askedText(t)}, ${windowText(t.start, t.end, clock)}`;
  }
}

function laterBy(asked: Timestamp | undefined, start: Timestamp | undefined): string {
  if (!asked || !start || start.seconds <= asked.seconds) return "later";
  return `${formatSpan(Number(start.seconds - asked.seconds) * 1000)} later`;
}

/** A circuit that makes room for another one, and what becomes of it. */
export function displacedText(d: Displaced, nameOf: NameOf, clock: Clock): string {
  const what = `${shortId(d.circuit)} of ${d.project}, priority ${d.priority}, ${rateOf(d.rateBitsPerSecond)}`;
  return d.preemptedFrom
    ? `${what}: preempted from ${clock.at(d.preemptedFrom)} on`
    : `${what}: moved to ${pathText(d.path, nameOf)}`;
}

/** Kinds of offers in words, for those whose search was given up. */
const offerKinds: Record<string, string> = {
  LATER: "a later window",
  LESS_RATE: "a lower rate",
  SLOWER: "a slower path",
  MORE_HOPS: "a longer path",
  MORE_SIDS: "a longer segment list",
  WITHOUT_BACKUP: "one without a backup",
  AS_VOLUME: "a volume",
  LATER_DEADLINE: "a later deadline",
  LESS_VOLUME: "a smaller volume",
};

export const givenUpText = (kinds: readonly string[]): string =>
  `Not searched to the end, so there may be more: ${kinds.map((k) => offerKinds[k] ?? k).join(", ")}.`;

/** What would make a path, where nothing else of the request gave way. */
export function relaxationText(r: Relaxation, linkName: LinkNames, nameOf: NameOf): string {
  const links = r.links.map(linkName).join(", ");
  const routers = r.routers.map(nameOf).join(", ");
  switch (r.field) {
    case "rate_bits_per_second":
      return `${rateOf(r.by)} less: ${links} ${r.links.length === 1 ? "has" : "have"} no more`;
    case "max_delay_microseconds":
      return r.by > 0n ? `${delayText(r.by)} of delay more` : `if the delay of ${links} were known`;
    case "max_hops":
      return `${r.by} ${r.by === 1n ? "link" : "links"} more`;
    case "max_sids":
      if (r.by === 0n) return "if its routers had SIDs that pin it";
      return `${r.by} ${r.by === 1n ? "segment" : "segments"} more`;
    case "affinities":
      return `whatever the groups of ${links}`;
    case "via":
      return `not via ${routers}`;
    case "exclude_risk_groups":
      return `over links of risk group ${r.riskGroups.join(", ")}`;
    default:
      return `with ${links || routers} allowed`;
  }
}

/** Circuits in which every word of the search is found, those that were requested last first. */
export function foundCircuits(circuits: readonly Circuit[], search: string, nameOf: NameOf): Circuit[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (c: Circuit) =>
    [
      c.id,
      c.requestId,
      c.holder,
      circuitLabel(c.state).text,
      keptOff(c) ? keptOffText : "",
      ...(c.terms ? [c.terms.project, c.terms.from, c.terms.to, c.terms.description] : []),
      ...(c.terms?.pairs ?? []).flatMap((p) => [p.source, p.destination, p.protocol]),
      ...[...c.path, ...c.backup].flatMap((h) => [nameOf(h.from), nameOf(h.to)]),
    ]
      .join(" ")
      .toLowerCase();
  return circuits.filter((c) => words.every((w) => text(c).includes(w))).toReversed();
}

/** Whether a circuit uses a link, with its path, its return path or its backup. */
export const usesLink = (c: Circuit, link: string): boolean =>
  [...c.path, ...c.back, ...c.backup].some((h) => h.link === link);

export interface CircuitStep {
  name: string;
  state: "done" | "now" | "todo" | "failed";
  transition?: { time?: Timestamp };
}

const course = [State.HELD, State.COMMITTED, State.SCHEDULED, State.ACTIVE, State.RELEASED];
/** What was reached before a state between two of the course. */
const before: Partial<Record<State, State>> = {
  [State.PROVISIONING]: State.SCHEDULED,
  [State.DEACTIVATING]: State.SCHEDULED,
  [State.RELEASING]: State.ACTIVE,
};

/** The way from held to released; one that left it ends with where it went. */
export function circuitSteps(c: Circuit): CircuitStep[] {
  const last = (s: State) => c.history.findLast((t) => t.state === s);
  const step = (s: State, state: CircuitStep["state"]): CircuitStep => {
    const time = state === "done" || state === "failed" ? last(s)?.time : undefined;
    const name = s === State.ACTIVE && keptOff(c) ? keptOffText : circuitLabel(s).text;
    return { name, state, ...(time && { transition: { time } }) };
  };
  const reached = course.indexOf(before[c.state] ?? c.state);
  if (reached < 0) {
    const left = course.findLastIndex((s) => last(s) !== undefined);
    return [...course.slice(0, left + 1).map((s) => step(s, "done")), step(c.state, "failed")];
  }
  return course.map((s, i) => step(s, i <= reached ? "done" : i === reached + 1 ? "now" : "todo"));
}

/** Traffic between two prefixes in words. */
export function trafficText(p: PrefixPair): string {
  const ports = (where: string, range: string) => (range ? `${where} port ${range}` : "");
  const flows = [p.protocol, ports("from", p.sourcePorts), ports("to", p.destinationPorts)].filter(Boolean);
  return [`${p.source} → ${p.destination}`, ...flows].join(", ");
}

/** One of the circuits that carry a volume together: how much, over which path, when, and of which traffic. */
export function partText(c: Circuit, nameOf: NameOf, clock: Clock): string {
  const [start, end] = spanOf(c.slots);
  const traffic = (c.terms?.pairs ?? []).map((p) => `; ${trafficText(p)}`).join("");
  return `${formatBytes(c.terms?.volumeBytes ?? 0n)} over ${pathText(c.path, nameOf)}, ${windowText(start, end, clock)}${traffic}`;
}
