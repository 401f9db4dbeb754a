import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { MaintenanceHitSchema, MaintenanceSchema, RefusalSchema } from "../gen/millrace/circuits/v1/circuits_pb";
import { createMaintenance } from "./maintenance";
import type { Resource } from "./resource";

beforeEach(() => void vi.useRealTimers());

const storeOf = (circuits: object) => createMaintenance({ circuits } as unknown as Pick<Api, "circuits">);

async function known<T>(resource: Resource<T>) {
  const stop = resource.start();
  await vi.waitFor(() => expect(resource.get().data ?? resource.get().error).toBeDefined());
  stop();
  return resource.get();
}

const m = create(MaintenanceSchema, { id: "CHG-1" });
const hit = create(MaintenanceHitSchema, { circuit: "c1" });

test("what a plan would hit is asked for without planning it", async () => {
  const asked: { dryRun?: boolean; by?: string }[] = [];
  const store = storeOf({
    addMaintenance: async (ask: object) => {
      asked.push(ask);
      return { maintenance: m, hits: [hit], hitsOmitted: 2 };
    },
  });
  expect((await known(store.ask({ id: "CHG-1" }, "noc"))).data).toEqual({ maintenance: m, hits: [hit], omitted: 2 });
  expect(await store.plan({ id: "CHG-1" }, "noc")).toBeUndefined();
  expect(asked.map((a) => [a.by, a.dryRun ?? false])).toEqual([
    ["noc", true],
    ["noc", false],
  ]);
});

test("a plan that is refused says why, and one of which nothing is known is an error", async () => {
  const refusal = create(RefusalSchema, { code: "POLICY", field: "by", reason: "ann is no operator" });
  const detail = { desc: RefusalSchema, value: refusal };
  const fails = (e: ConnectError) => ({ addMaintenance: () => Promise.reject(e) });
  const refused = storeOf(fails(new ConnectError("ann is no operator", Code.PermissionDenied, undefined, [detail])));
  expect((await known(refused.ask({}, "ann"))).data?.refusal?.reason).toBe("ann is no operator");
  expect(await refused.plan({}, "ann")).toBe("ann is no operator");
  const away = storeOf(fails(new ConnectError("the topology is old", Code.Unavailable)));
  expect((await known(away.ask({}, "noc"))).error).toBe("the topology is old");
});

test("one that is removed is read again where it is shown", async () => {
  let reads = 0;
  const store = storeOf({
    listMaintenance: async () => {
      reads++;
      return { maintenance: [m], hits: [], hitsOmitted: 0 };
    },
    removeMaintenance: async () => ({}),
  });
  const one = store.one("CHG-1");
  const stop = one.start();
  await vi.waitFor(() => expect(one.get().data?.maintenance).toEqual(m));
  const before = reads;
  expect(await store.remove("CHG-1", { by: "noc", note: "" })).toBeUndefined();
  await vi.waitFor(() => expect(reads).toBe(before + 1));
  stop();
});
