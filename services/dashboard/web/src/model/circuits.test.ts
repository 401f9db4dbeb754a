import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  BlockerSchema,
  type Circuit,
  CircuitSchema,
  DisplacedSchema,
  OfferSchema,
  PrefixPairSchema,
  RefusalSchema,
  RelaxationSchema,
  State,
  TermsSchema,
  TransitionSchema,
} from "../gen/millrace/circuits/v1/circuits_pb";
import {
  askedText,
  blockerText,
  bookedStates,
  bookedText,
  canActivate,
  canChange,
  canCommit,
  canRelease,
  circuitLabel,
  circuitMeaning,
  circuitSteps,
  circuitTitle,
  displacedText,
  endedStates,
  foundCircuits,
  givenUpText,
  linkNames,
  needsOperator,
  offerText,
  partText,
  pathMissing,
  pathText,
  refusalTitle,
  relaxationText,
  shortId,
  trafficText,
  usesLink,
  windowText,
} from "./circuits";
import { network } from "./testing";

const states = Object.values(State).filter((s): s is State => typeof s === "number");
const at = (minutes: number) => timestampFromMs(minutes * 60_000);
/** Minutes since the epoch, and those of the end with a plus. */
const clock = {
  at: (t: Timestamp) => String(Number(t.seconds) / 60),
  until: (end: Timestamp, start: Timestamp | undefined) =>
    start ? `+${Number(end.seconds - start.seconds) / 60}` : `${Number(end.seconds) / 60}`,
};

function circuit(state: State, ...history: State[]): Circuit {
  return create(CircuitSchema, {
    id: "01a7c3f0-0b1c-7d00-8000-00000000c7be",
    state,
    holder: "a.rossi",
    terms: { project: "climate", from: "WR", to: "ER", rateBitsPerSecond: 20_000_000n, description: "Archive" },
    path: [
      { link: "l1", from: "10.255.0.1", to: "10.255.0.3" },
      { link: "l2", from: "10.255.0.3", to: "10.255.0.2" },
    ],
    history: history.map((s, i) => create(TransitionSchema, { state: s, time: at(i) })),
  });
}

const names: Record<string, string> = { "10.255.0.1": "WR", "10.255.0.2": "ER", "10.255.0.3": "CR" };
const nameOf = (id: string) => names[id] ?? id;

test("every state has a name and a meaning of its own, and is booked or over", () => {
  expect(new Set(states.map((s) => circuitLabel(s).text)).size).toBe(states.length);
  expect(new Set(states.map((s) => circuitMeaning(circuit(s)))).size).toBe(states.length);
  expect([...bookedStates, ...endedStates].sort((a, b) => a - b)).toEqual(states.filter((s) => s !== 0));
  expect(circuitLabel(99 as State).text).toBe("unknown");
});

test("only held circuits are committed, and those that have capacity given up", () => {
  expect(states.filter((s) => canCommit(circuit(s)))).toEqual([State.HELD]);
  expect(states.filter((s) => canRelease(circuit(s)))).toEqual(
    bookedStates.filter((s) => s !== State.RELEASING).sort((a, b) => a - b),
  );
});

test("an operator has to commit what is held above the soft cap, and the path changes where routers have none or all of it", () => {
  const above = (s: State) => {
    const c = circuit(s);
    if (c.terms) c.terms.aboveSoftCap = true;
    return c;
  };
  expect(states.filter((s) => needsOperator(above(s)))).toEqual([State.HELD]);
  expect(needsOperator(circuit(State.HELD))).toBe(false);
  const { HELD, COMMITTED, SCHEDULED, ACTIVE } = State;
  expect(states.filter((s) => canChange(circuit(s)))).toEqual([HELD, COMMITTED, SCHEDULED, ACTIVE]);
});

test("the path of a circuit that waits for it, or has lost it, is missing", () => {
  expect(states.filter((s) => pathMissing(circuit(s)))).toEqual([State.COMMITTED, State.INTERRUPTED]);
});

test("a circuit is called by its description, else by its ends, and its id is cut", () => {
  expect(circuitTitle(circuit(State.ACTIVE))).toBe("Archive");
  const plain = circuit(State.ACTIVE);
  if (plain.terms) plain.terms.description = "";
  expect(circuitTitle(plain)).toBe("WR → ER");
  expect(shortId(plain.id)).toBe("…0000c7be");
  expect(shortId("c1")).toBe("c1");
});

test("what is asked for is a rate, or a volume with a highest rate", () => {
  const terms = (rate: bigint, volume: bigint) => create(TermsSchema, { rateBitsPerSecond: rate, volumeBytes: volume });
  expect(askedText(terms(20_000_000n, 0n))).toBe("20.0 Mbit/s");
  expect([1n, 2_000_000n].map(bookedText)).toEqual(["no guaranteed rate", "2.00 Mbit/s"]);
  expect(askedText(create(TermsSchema, { scavenger: true, rateBitsPerSecond: 1n }))).toBe("no guaranteed rate");
  expect(askedText(terms(0n, 20_000_000_000_000n))).toBe("20.0 TB");
  expect(askedText(terms(5_000_000_000n, 1_000_000n))).toBe("1.00 MB, at most 5.00 Gbit/s");
});

test("a path names its routers, and a window may be open", () => {
  expect(pathText(circuit(State.ACTIVE).path, nameOf)).toBe("WR → CR → ER");
  expect(pathText([], nameOf)).toBe("–");
  expect(windowText(at(5), at(9), clock)).toBe("5 to +4");
  expect(windowText(undefined, undefined, clock)).toBe("now, open-ended");
});

test("links are named by their ends, parallel ones with their port", () => {
  const snapshot = network("WR-ER WR-CR CR-WR");
  const name = linkNames(snapshot);
  const [first, , second, , parallel] = snapshot.links;
  expect(name(first?.id ?? "")).toBe("WR → ER");
  expect(name(second?.id ?? "")).toBe("WR → CR (to-CR-1)");
  expect(name(parallel?.id ?? "")).toBe("CR → WR (to-WR-2)");
  expect(name("gone")).toBe("gone");
});

test("a blocker says which link lacks how much and when", () => {
  const b = create(BlockerSchema, { link: "l1", start: at(1), end: at(3), shortfallBitsPerSecond: 20_000_000n });
  expect(blockerText(b, () => "WR → ER", clock)).toBe("WR → ER lacks 20.0 Mbit/s, 1 to +2");
  const maintained = create(BlockerSchema, { ...b, maintenance: ["CHG-1", "CHG-2"] });
  expect(blockerText(maintained, () => "WR → ER", clock)).toMatch(/ \(in maintenance: CHG-1, CHG-2\)$/);
});

test("every code of a refusal is said in words, and a new one as it is", () => {
  const title = (code: string) => refusalTitle(create(RefusalSchema, { code }));
  const codes = [
    "CAPACITY",
    "NO_PATH",
    "RISK_GROUPS",
    "SID_DEPTH",
    "AFFINITY",
    "LOOSE_HOPS",
    "HOPS",
    "NO_BACKUP",
    "LATENCY",
    "SEARCH_BOUND",
    "QUOTA",
    "POLICY",
    "OUTDATED",
    "BAD_REQUEST",
  ];
  expect(codes.filter((c) => title(c) === c)).toEqual([]);
  expect(title("NEW")).toBe("NEW");
});

describe("an offer", () => {
  const asked = create(TermsSchema, { rateBitsPerSecond: 45_000_000n, start: at(0), end: at(60) });
  const offer = (kind: string, terms: object, changePerMille = 0n) =>
    offerText(create(OfferSchema, { kind, terms: { ...asked, ...terms }, changePerMille }), asked, clock);
  test.each([
    ["LATER", { start: at(90), end: at(150) }, 0n, "The same, 1 h 30 min later: 90 to +60"],
    ["LESS_RATE", { rateBitsPerSecond: 35_000_000n }, 223n, "35.0 Mbit/s in the same window (22.3 % less)"],
    ["SLOWER", { maxDelayMicroseconds: 12_500n }, 0n, "Allow 12.5 ms of delay"],
    ["MORE_HOPS", { maxHops: 4 }, 0n, "Allow 4 links"],
    ["NOT_VIA", { via: ["CR", "X"] }, 0n, "Only via CR, X"],
    ["NOT_VIA", {}, 0n, "Whatever routers it passes"],
    ["OTHER_GROUPS", {}, 0n, "Allow links of other groups"],
    ["WITHOUT_BACKUP", {}, 0n, "The same without a backup"],
    ["AS_VOLUME", { volumeBytes: 2_000_000n, end: at(99) }, 0n, "The same 2.00 MB as a volume, there by 99"],
    ["MORE_SIDS", { maxSids: 3 }, 0n, "Allow 3 segments"],
    ["LATER_DEADLINE", { end: at(99) }, 0n, "The same volume, there by 99"],
    ["LESS_VOLUME", { volumeBytes: 1_000_000n }, 500n, "1.00 MB by the same deadline (50 % less)"],
    ["ABOVE_SOFT_CAP", {}, 0n, "The same above the soft cap: hold it, and an operator of circuits commits it"],
    ["NEW", {}, 0n, "NEW: 45.0 Mbit/s, 0 to +60"],
  ])("%s", (kind, terms, less, want) => {
    expect(offer(kind, terms, less)).toBe(want);
  });

  test("whose search was given up is named", () => {
    expect(givenUpText(["LATER", "NEW"])).toBe("Not searched to the end, so there may be more: a later window, NEW.");
  });
});

test.each([
  [{ field: "rate_bits_per_second", by: 5_000_000n, links: ["l1"] }, "5.00 Mbit/s less: link l1 has no more"],
  [
    { field: "rate_bits_per_second", by: 5_000_000n, links: ["l1", "l2"] },
    "5.00 Mbit/s less: link l1, link l2 have no more",
  ],
  [{ field: "max_delay_microseconds", by: 1500n }, "1.5 ms of delay more"],
  [{ field: "max_delay_microseconds", links: ["l1"] }, "if the delay of link l1 were known"],
  [{ field: "max_hops", by: 1n }, "1 link more"],
  [{ field: "max_hops", by: 2n }, "2 links more"],
  [{ field: "max_sids", by: 1n }, "1 segment more"],
  [{ field: "max_sids" }, "if its routers had SIDs that pin it"],
  [{ field: "affinities", links: ["l1"] }, "whatever the groups of link l1"],
  [{ field: "via", routers: ["r9"] }, "not via router r9"],
  [{ field: "exclude_risk_groups", riskGroups: [7, 9] }, "over links of risk group 7, 9"],
  [{ field: "without_routers", routers: ["r9"] }, "with router r9 allowed"],
  [{ field: "apart_from", links: ["l2"] }, "with link l2 allowed"],
])("what would make a path: %o", (part, want) => {
  const text = relaxationText(
    create(RelaxationSchema, part),
    (l) => `link ${l}`,
    (r) => `router ${r}`,
  );
  expect(text).toBe(want);
});

test("a search finds circuits by words of any of their texts, the newest first", () => {
  const [a, b] = [circuit(State.ACTIVE), circuit(State.HELD)];
  expect(foundCircuits([a, b], "", nameOf)).toEqual([b, a]);
  expect(foundCircuits([a, b], "climate ACTIVE cr", nameOf)).toEqual([a]);
  expect(foundCircuits([a, b], "rossi c7be", nameOf)).toHaveLength(2);
  expect(foundCircuits([a, b], "lhc", nameOf)).toEqual([]);
  expect(usesLink(a, "l2")).toBe(true);
  expect(usesLink(a, "l3")).toBe(false);
});

test("a circuit uses the links of its path, its return path and its backup", () => {
  const hops = (link: string) => [{ link }];
  const c = create(CircuitSchema, { path: hops("l1"), back: hops("l9"), backup: hops("l4") });
  expect(["l1", "l9", "l4", "l2"].filter((l) => usesLink(c, l))).toEqual(["l1", "l9", "l4"]);
});

test("what is kept off routers says so while it is booked, and is activated once it is committed", () => {
  const off = (s: State) => create(CircuitSchema, { state: s, deactivated: true });
  const { HELD, SCHEDULED } = State;
  const kept = states.filter((s) => circuitMeaning(off(s)) !== circuitMeaning(circuit(s)));
  expect(kept).toEqual(bookedStates.filter((s) => s !== State.RELEASING).sort((a, b) => a - b));
  expect(circuitMeaning(off(SCHEDULED))).toBe(
    "it is booked, and its path is there; it is kept off routers until somebody activates it",
  );
  expect(states.filter((s) => canActivate(off(s)))).toEqual(kept.filter((s) => s !== HELD));
  expect(states.filter((s) => canActivate(circuit(s)))).toEqual([]);
  expect(foundCircuits([off(HELD), circuit(SCHEDULED)], "kept off", nameOf)).toEqual([off(HELD)]);
});

describe("the steps", () => {
  const walked = (...history: State[]) =>
    circuitSteps(circuit(history.at(-1) ?? State.HELD, ...history)).map((s) => `${s.name} ${s.state}`);
  const { HELD, COMMITTED, SCHEDULED, PROVISIONING, ACTIVE, INTERRUPTED, DEACTIVATING } = State;
  const { RELEASING, RELEASED, EXPIRED } = State;
  test.each([
    ["of a hold", [HELD], ["held done", "committed now", "scheduled todo", "active todo", "released todo"]],
    [
      "of one on its way to routers",
      [HELD, COMMITTED, SCHEDULED, PROVISIONING],
      ["held done", "committed done", "scheduled done", "active now", "released todo"],
    ],
    [
      "of one that is over",
      [HELD, COMMITTED, SCHEDULED, ACTIVE, RELEASED],
      ["held done", "committed done", "scheduled done", "active done", "released done"],
    ],
    ["of a hold that ran out", [HELD, EXPIRED], ["held done", "expired failed"]],
    [
      "of one whose path is gone",
      [HELD, COMMITTED, SCHEDULED, ACTIVE, INTERRUPTED],
      ["held done", "committed done", "scheduled done", "active done", "interrupted failed"],
    ],
    [
      "of one that is activated again",
      [HELD, COMMITTED, SCHEDULED, PROVISIONING, ACTIVE, DEACTIVATING, SCHEDULED, PROVISIONING],
      ["held done", "committed done", "scheduled done", "active now", "released todo"],
    ],
    [
      "of one whose end came",
      [HELD, COMMITTED, SCHEDULED, PROVISIONING, ACTIVE, RELEASING],
      ["held done", "committed done", "scheduled done", "active done", "released now"],
    ],
  ])("%s", (_name, history, want) => {
    expect(walked(...history)).toEqual(want);
  });

  test.each([
    [[HELD, COMMITTED, SCHEDULED]],
    [[HELD, COMMITTED, SCHEDULED, PROVISIONING, ACTIVE, DEACTIVATING]],
    [[HELD, COMMITTED, SCHEDULED, PROVISIONING, ACTIVE, DEACTIVATING, SCHEDULED]],
  ])("of one that is kept off routers: %j", (history) => {
    const c = circuit(history.at(-1) ?? HELD, ...history);
    c.deactivated = true;
    const steps = circuitSteps(c);
    expect(steps.map((s) => `${s.name} ${s.state}`)).toEqual([
      "held done",
      "committed done",
      "scheduled done",
      "kept off routers now",
      "released todo",
    ]);
    expect(steps[3]?.transition).toBeUndefined();
  });
});

test("a circuit that makes room says what becomes of it", () => {
  const d = { circuit: "c1", project: "climate", priority: 7, rateBitsPerSecond: 20_000_000n };
  const nameOf = (id: string) => id.slice(-1);
  expect(displacedText(create(DisplacedSchema, { ...d, preemptedFrom: at(5) }), nameOf, clock)).toBe(
    "c1 of climate, priority 7, 20.0 Mbit/s: preempted from 5 on",
  );
  const moved = create(DisplacedSchema, { ...d, path: circuit(State.SCHEDULED).path });
  expect(displacedText(moved, nameOf, clock)).toBe("c1 of climate, priority 7, 20.0 Mbit/s: moved to 1 → 3 → 2");
});

test("traffic is said with the protocol and the ports that matter", () => {
  const said = (part: object) => trafficText(create(PrefixPairSchema, { source: "a", destination: "b", ...part }));
  expect(said({})).toBe("a → b");
  expect(said({ protocol: "gre" })).toBe("a → b, gre");
  expect(said({ protocol: "tcp", sourcePorts: "1", destinationPorts: "5000-5100" })).toBe(
    "a → b, tcp, from port 1, to port 5000-5100",
  );
});

test("a part of a volume is said with its bytes, path, window and traffic", () => {
  const part = create(CircuitSchema, {
    terms: {
      volumeBytes: 2_000_000n,
      pairs: [{ source: "a", destination: "b", protocol: "tcp", destinationPorts: "5000-5007" }],
    },
    path: [
      { from: "WR", to: "CR" },
      { from: "CR", to: "ER" },
    ],
    slots: [
      { start: at(1), end: at(2) },
      { start: at(5), end: at(9) },
    ],
  });
  expect(partText(part, (id) => id.toLowerCase(), clock)).toBe(
    "2.00 MB over wr → cr → er, 1 to +8; a → b, tcp, to port 5000-5007",
  );
});
