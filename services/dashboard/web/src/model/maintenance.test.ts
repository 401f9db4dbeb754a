import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  AddMaintenanceRequestSchema,
  Fate,
  MaintenanceHitSchema,
  MaintenanceSchema,
} from "../gen/millrace/circuits/v1/circuits_pb";
import { linkNames } from "./circuits";
import {
  emptyMaintenance,
  fateLabel,
  hitsText,
  hitText,
  linkPairs,
  type MaintenanceForm,
  maintenanceLabel,
  maintenanceOf,
  maintenanceOpen,
  outText,
  pairNames,
} from "./maintenance";
import { network } from "./testing";

/** Times of a zone where the clock shows milliseconds. */
const readTime = (text: string) => (text === "" ? Number.NaN : Number(text));
const form = (part: Partial<MaintenanceForm>): MaintenanceForm => ({
  ...emptyMaintenance,
  id: "CHG-1",
  links: ["l1"],
  end: "5000",
  reason: "optics",
  ...part,
});

describe("a plan", () => {
  test("is that of the form", () => {
    const { plan, problems } = maintenanceOf(
      form({ id: " CHG-1 ", start: "1000", left: "2.5", leftUnit: "Gbit/s" }),
      readTime,
    );
    expect(problems).toEqual({});
    expect(create(AddMaintenanceRequestSchema, plan)).toEqual(
      create(AddMaintenanceRequestSchema, {
        id: "CHG-1",
        links: ["l1"],
        leftBitsPerSecond: 2_500_000_000n,
        start: timestampFromMs(1000),
        end: timestampFromMs(5000),
        reason: "optics",
      }),
    );
    expect(maintenanceOf(form({}), readTime).plan).not.toHaveProperty("start");
  });

  test.each<[string, Partial<MaintenanceForm>, string]>([
    ["no id", { id: " " }, "id"],
    ["an id with a blank", { id: "CHG 1" }, "id"],
    ["an id of 65 characters", { id: "x".repeat(65) }, "id"],
    ["nothing that is out", { links: [] }, "links"],
    ["101 links", { links: Array.from({ length: 101 }, String) }, "links"],
    ["101 routers", { routers: Array.from({ length: 101 }, String) }, "routers"],
    ["a rest that is none", { left: "half" }, "left"],
    ["a rest of routers", { left: "1", routers: ["CR"] }, "left"],
    ["no end", { end: "" }, "end"],
    ["an end before the start", { start: "6000" }, "end"],
    ["a start that is none", { start: "x" }, "start"],
    ["no reason", { reason: " " }, "reason"],
  ])("misses %s", (_name, part, field) => {
    expect(Object.keys(maintenanceOf(form(part), readTime).problems)).toEqual([field]);
  });

  test("takes the longest id, and routers alone", () => {
    const longest = form({ id: "aZ0._-".padEnd(64, "x"), links: [], routers: ["CR"] });
    expect(maintenanceOf(longest, readTime).problems).toEqual({});
  });
});

test.each([
  ["before it", {}, 999, "planned", true],
  ["at its start", {}, 1000, "under way", true],
  ["at its end", {}, 5000, "over", false],
  ["after it was removed", { removed: timestampFromMs(2000) }, 2000, "removed", false],
])("%s", (_name, part, now, text, open) => {
  const m = create(MaintenanceSchema, { start: timestampFromMs(1000), end: timestampFromMs(5000), ...part });
  expect([maintenanceLabel(m, now).text, maintenanceOpen(m, now)]).toEqual([text, open]);
});

describe("links", () => {
  const snapshot = network("WR-ER WR-CR CR-WR WR>X");
  const linkName = linkNames(snapshot);
  const ids = snapshot.links.map((l) => l.id);

  test("are one for both directions, and one that has no other stays", () => {
    const pairs = linkPairs(snapshot, linkName);
    expect(pairs).toHaveLength(4);
    expect(pairs.map((p) => p.name)).toContain("WR – X");
    expect(pairs.every((p) => ids.includes(p.id))).toBe(true);
  });

  test("have the same name in both directions, another than a link beside them", () => {
    const name = pairNames(snapshot, linkName);
    const named = ids.map(name);
    expect(new Set(named).size).toBe(4);
    expect(named[0]).toBe(named[1]);
    expect(name("gone")).toBe("gone");
  });

  test("that are out are named once, after routers, with what is left", () => {
    const m = create(MaintenanceSchema, { links: ids.slice(0, 2), routers: ["r9"], leftBitsPerSecond: 50_000_000n });
    expect(outText(m, pairNames(snapshot, linkName), () => "CR")).toBe("router CR, WR – ER, but for 50.0 Mbit/s");
  });
});

test("every fate has a name of its own, and an unknown one is looked at later", () => {
  const fates = Object.values(Fate).filter((f): f is Fate => typeof f === "number");
  expect(new Set(fates.map((f) => fateLabel(f).text)).size).toBe(fates.length);
  expect(fateLabel(99 as Fate).text).toBe("looked at later");
});

test("a circuit that is hit says where it goes, or why it stays", () => {
  const hit = (part: object) => hitText(create(MaintenanceHitSchema, part), (id) => id.toUpperCase());
  expect(hit({ path: [{ from: "a", to: "b" }] })).toBe("to A → B");
  expect(hit({ refusal: { reason: "no room" } })).toBe("no room");
  expect(hit({})).toBe("");
});

test("how many are hit, and how many of them stay", () => {
  const of = (...list: Fate[]) => list.map((fate) => create(MaintenanceHitSchema, { fate }));
  expect(hitsText([], 0)).toBe("It hits no circuit.");
  expect(hitsText(of(Fate.MOVES), 0)).toBe("It hits 1 circuit.");
  expect(hitsText(of(Fate.MOVES, Fate.STAYS), 3)).toBe("It hits 5 circuits, 1 of which stays.");
  expect(hitsText(of(Fate.HOLDS, Fate.STAYS, Fate.UNPROTECTED), 0)).toBe("It hits 3 circuits, 2 of which stay.");
});
