// Circuits: those that are booked, what is free, and the request in the form; polled only while their page is open.
import { create, toJsonString } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import {
  type Circuit,
  type Displaced,
  type Hop,
  type LinkCalendar,
  type Proposal,
  type Refusal,
  type Slot,
  type State,
  type Terms,
  TermsSchema,
  type UsageResponse,
} from "../gen/millrace/circuits/v1/circuits_pb";
import type { BatchInit, TermsInit } from "../model/circuitForm";
import type { PathWants } from "../model/circuitPath";
import type { SizeChange } from "../model/circuitSize";
import { bookedStates, endedStates } from "../model/circuits";
import { usageSpan } from "../model/circuitUsage";
import { bookedLinks, type TimeWindow } from "../model/strip";
import { millis } from "../model/units";
import type { Decision } from "./changes";
import { failureOf, refusalOf } from "./refusals";
import { always, type Polled, Resource } from "./resource";

/** What of a list the page shows at most; the service has the rest. */
const mostCircuits = 2000;
/** How many links have a strip at most. */
export const mostStrips = 12;

export interface CircuitList {
  /** In the order of their requests. */
  circuits: Circuit[];
  /** The service has more, which are older. */
  more: boolean;
}

export interface LinkStrips {
  window: TimeWindow;
  /** With the pieces of the window; those with the least room first. */
  links: LinkCalendar[];
  /** Links that have something booked and no strip, and links that have nothing. */
  left: number;
  free: number;
}

/** What would be booked, why not, or why that is not known. */
export interface Answer {
  terms: Terms;
  slots: Slot[];
  path: Hop[];
  backup: Hop[];
  /** How many windows there are where the first one's is path: each has a path of its own. */
  windows?: number;
  /** The circuits of a volume over several paths. */
  parts?: Circuit[];
  /** Circuits that make room where it is booked, not held. */
  wouldDisplace: Displaced[];
  refusal?: Refusal | undefined;
  error?: string | undefined;
  /** It is unknown whether it was booked. */
  unknown?: boolean;
}

/** A dry run of a change decides on circuits that are booked: it is made once, and again on their events. */
export const dryRun = always(3_600_000);

/** Stands where there is no request. */
export const noAnswer = new Resource<Answer | undefined>(async () => undefined, always(3_600_000));
export const noCircuit = new Resource<Circuit | undefined>(async () => undefined, always(3_600_000));

/** What of a circuit is to change: all that it wants of its path, or its rate and its end. */
export type CircuitChange = SizeChange & { path?: PathWants };

export interface CircuitStore {
  booked: Resource<CircuitList>;
  ended: Resource<CircuitList>;
  strips: (hours: number) => Resource<LinkStrips>;
  /** One circuit, whatever its state. */
  one: (id: string) => Resource<Circuit | undefined>;
  /** What one circuit sent in the last hour. */
  usage: (id: string) => Resource<UsageResponse>;
  /** Asks whether it would fit, now and again. */
  quote: (terms: TermsInit, by: string, batch?: BatchInit) => Resource<Answer | undefined>;
  /** What a project might request. */
  proposals: (project: string) => Resource<Proposal[]>;
  /** Holds or books it; returns its id, or why not. Asked again after an answer that was lost, it makes no second one. */
  request: (terms: TermsInit, by: string, commit: boolean, batch?: BatchInit) => Promise<{ id: string } | Answer>;
  commit: (id: string, decision: Decision) => Promise<string | undefined>;
  /** Lets one that is kept off routers onto them. */
  activate: (id: string, decision: Decision) => Promise<string | undefined>;
  release: (id: string, decision: Decision) => Promise<string | undefined>;
  /** What it would be with a change; nothing is changed. */
  wouldBe: (circuit: Circuit, change: CircuitChange, by: string) => Resource<Answer | undefined>;
  /** Changes it, if it is still as it was read; returns why not. */
  modify: (circuit: Circuit, change: CircuitChange, decision: Decision) => Promise<string | undefined>;
  /** Moves it to a better path; returns why not. */
  reoptimise: (id: string, decision: Decision) => Promise<string | undefined>;
  /** What an event about circuits makes old. */
  changed: () => readonly Polled[];
}

export function createCircuits(api: Pick<Api, "circuits">): CircuitStore {
  const list = (states: State[]) => new Resource((signal) => load(api, states, signal), always(5000));
  const booked = list(bookedStates);
  const ended = list(endedStates);
  // Lists that a component made for itself receive events, too, while it is shown.
  const made = new Set<Polled>();
  const follow = <T>(resource: Resource<T>): Resource<T> => {
    for (const old of made) if (!old.polling) made.delete(old);
    made.add(resource);
    return resource;
  };
  const changed = () => [booked, ended, ...made];
  // Ids of requests whose outcome is unknown. They outlive the form, which may be closed meanwhile.
  const unknown = new Map<string, string>();
  const act = async (call: () => Promise<unknown>): Promise<string | undefined> => {
    const failure = await failureOf(call);
    for (const resource of changed()) if (resource.polling) void resource.refresh();
    return failure;
  };
  return {
    booked,
    ended,
    changed,
    strips: (hours) => follow(new Resource((signal) => loadStrips(api, hours, signal), always(15_000))),
    one: (id) =>
      follow(new Resource(async (signal) => (await api.circuits.get({ id }, { signal })).circuit, always(3000))),
    usage: (id) => new Resource((signal) => loadUsage(api, id, signal), always(30_000)),
    quote: (terms, by, batch) =>
      follow(new Resource<Answer | undefined>((signal) => quote(api, terms, by, signal, batch), always(10_000))),
    proposals: (project) =>
      new Resource(async (signal) => (await api.circuits.proposals({ project }, { signal })).proposals, always(60_000)),
    request: async (terms, by, commit, batch) => {
      const what = `${by} ${commit} ${JSON.stringify(batch ?? {})} ${toJsonString(TermsSchema, create(TermsSchema, terms))}`;
      const requestId = unknown.get(what) ?? newRequestId();
      unknown.set(what, requestId);
      let id = "";
      let refused: Answer | undefined;
      await act(async () => {
        try {
          const first = batch
            ? (await api.circuits.requestAll({ terms: [terms], by, requestId, commit, ...batch })).circuits[0]
            : (await api.circuits.request({ terms, by, requestId, commit })).circuit;
          id = first?.id ?? "";
        } catch (reason) {
          refused = answerOf(terms, reason);
        }
      });
      if (!refused?.unknown) unknown.delete(what);
      return refused ?? { id };
    },
    commit: (id, { by, note }) => act(() => api.circuits.commit({ id, by, note })),
    activate: (id, { by, note }) => act(() => api.circuits.activate({ id, by, note })),
    release: (id, { by, note }) => act(() => api.circuits.release({ id, by, note })),
    wouldBe: (circuit, change, by) =>
      follow(new Resource<Answer | undefined>((signal) => wouldBe(api, circuit, change, by, signal), dryRun)),
    modify: ({ id, version }, change, { by, note }) =>
      act(() => api.circuits.modify({ id, version, ...change, by, note })),
    reoptimise: async (id, { by }) => {
      let moved = false;
      const error = await act(async () => {
        moved = (await api.circuits.reoptimise({ id, by })).moves.some((m) => m.done);
      });
      return error ?? (moved ? undefined : "No better path is worth a move.");
    },
  };
}

const loadUsage = (api: Pick<Api, "circuits">, id: string, signal: AbortSignal): Promise<UsageResponse> =>
  api.circuits.usage({ id, from: timestampFromMs(Date.now() - usageSpan) }, { signal });

async function load(api: Pick<Api, "circuits">, states: State[], signal: AbortSignal): Promise<CircuitList> {
  const circuits: Circuit[] = [];
  let pageToken = "";
  do {
    const page = await api.circuits.list({ states, pageSize: 1000, pageToken, newestFirst: true }, { signal });
    circuits.push(...page.circuits);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && circuits.length < mostCircuits);
  return { circuits: circuits.reverse(), more: pageToken !== "" };
}

async function loadStrips(api: Pick<Api, "circuits">, hours: number, signal: AbortSignal): Promise<LinkStrips> {
  const from = Math.floor(Date.now() / 60_000) * 60_000;
  const window = { from: millis(from), to: millis(from + hours * 3_600_000) };
  const [start, end] = [timestampFromMs(window.from), timestampFromMs(window.to)];
  const { links } = await api.circuits.calendar({ start, end }, { signal });
  const used = bookedLinks(links);
  const shown = await Promise.all(
    used
      .slice(0, mostStrips)
      .map(async (l) => (await api.circuits.calendar({ link: l.link?.link ?? "", start, end }, { signal })).links),
  );
  return {
    window,
    links: shown.flat(),
    left: Math.max(used.length - mostStrips, 0),
    free: links.length - used.length,
  };
}

async function quote(
  api: Pick<Api, "circuits">,
  terms: TermsInit,
  by: string,
  signal: AbortSignal,
  batch?: BatchInit,
): Promise<Answer> {
  try {
    if (batch) {
      const ask = { terms: [terms], by, ...batch, requestId: newRequestId(), dryRun: true };
      const { circuits, refusal } = await api.circuits.requestAll(ask, { signal });
      const [first] = circuits;
      return {
        terms: create(TermsSchema, terms),
        slots: circuits.flatMap((c) => c.slots),
        path: first?.path ?? [],
        backup: first?.backup ?? [],
        ...(batch.repeat ? { windows: circuits.length } : { parts: circuits }),
        wouldDisplace: [],
        refusal,
      };
    }
    const { slots, path, backup, refusal, wouldDisplace } = await api.circuits.quote({ terms, by }, { signal });
    return { terms: create(TermsSchema, terms), slots, path, backup, refusal, wouldDisplace };
  } catch (reason) {
    const answer = answerOf(terms, reason);
    if (!answer.refusal) throw reason;
    return answer;
  }
}

async function wouldBe(
  api: Pick<Api, "circuits">,
  { id, version, terms }: Circuit,
  change: CircuitChange,
  by: string,
  signal: AbortSignal,
): Promise<Answer> {
  const wanted = wantedTerms(terms, change);
  try {
    const { circuit, refusal } = await api.circuits.modify({ id, version, ...change, by, dryRun: true }, { signal });
    const none = { slots: [], path: [], backup: [], wouldDisplace: [] };
    const { slots, path: hops, backup } = circuit ?? { ...none, path: [] };
    return { ...none, terms: create(TermsSchema, wanted), slots, path: hops, backup, refusal };
  } catch (reason) {
    const answer = answerOf(wanted, reason);
    if (!answer.refusal) throw reason;
    return answer;
  }
}

/** Terms with a change, for what is said of a refusal. */
function wantedTerms(terms: Terms | undefined, { path, rateBitsPerSecond, end, openEnded }: CircuitChange): TermsInit {
  const is = Object.assign(create(TermsSchema), terms, path);
  return {
    ...is,
    rateBitsPerSecond: rateBitsPerSecond ?? is.rateBitsPerSecond,
    end: openEnded ? undefined : (end ?? is.end),
  };
}

/** An error of the service; a refusal goes with it where it is one. */
function answerOf(terms: TermsInit, reason: unknown): Answer {
  const refusal = refusalOf(reason);
  const error = refusal ? undefined : errorText(reason);
  const unknown = !refusal && mayBeDone.has(ConnectError.from(reason).code);
  return {
    terms: create(TermsSchema, terms),
    slots: [],
    path: [],
    backup: [],
    wouldDisplace: [],
    refusal,
    error,
    unknown,
  };
}

/** Errors after which it is unknown whether a request was carried out. */
const mayBeDone = new Set([
  Code.Unavailable,
  Code.Unknown,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Aborted,
  Code.Internal,
]);

function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `page-${[...bytes].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}
