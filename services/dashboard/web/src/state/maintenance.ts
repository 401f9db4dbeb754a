// Maintenance of links and routers; polled only while the page of circuits is open.
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import type { Maintenance, MaintenanceHit, Refusal } from "../gen/millrace/circuits/v1/circuits_pb";
import type { MaintenanceInit } from "../model/maintenance";
import type { Decision } from "./changes";
import { dryRun } from "./circuits";
import { failureOf, refusalOf } from "./refusals";
import { always, type Polled, Resource } from "./resource";

/** A maintenance, and the circuits that it hits, of which some are not listed. */
export interface Hits {
  maintenance: Maintenance | undefined;
  hits: MaintenanceHit[];
  omitted: number;
}

/** What planning it would do, or why it cannot be planned. */
export interface PlanAnswer extends Partial<Hits> {
  refusal?: Refusal | undefined;
}

/** Stand where nothing is selected or planned. */
export const noMaintenance = new Resource<Hits | undefined>(async () => undefined, always(3_600_000));
export const noPlan = new Resource<PlanAnswer | undefined>(async () => undefined, always(3_600_000));

export interface MaintenanceStore {
  /** All that is kept, the earliest first. */
  list: Resource<Maintenance[]>;
  /** One, and the circuits that it still hits. */
  one: (id: string) => Resource<Hits | undefined>;
  /** What planning it would do; nothing is planned. */
  ask: (plan: MaintenanceInit, by: string) => Resource<PlanAnswer | undefined>;
  /** Plans it; returns why not. The same again under its id, as after a lost answer, is no second one. */
  plan: (plan: MaintenanceInit, by: string) => Promise<string | undefined>;
  remove: (id: string, decision: Decision) => Promise<string | undefined>;
  /** What an event makes old. */
  changed: () => readonly Polled[];
}

export function createMaintenance(api: Pick<Api, "circuits">): MaintenanceStore {
  const list = new Resource(
    async (signal) => (await api.circuits.listMaintenance({ all: true }, { signal })).maintenance,
    always(10_000),
  );
  const shown = new Set<Polled>();
  const follow = <T>(resource: Resource<T>): Resource<T> => {
    for (const old of shown) if (!old.polling) shown.delete(old);
    shown.add(resource);
    return resource;
  };
  const changed = () => [list, ...shown];
  const act = async (call: () => Promise<unknown>) => {
    const failure = await failureOf(call);
    for (const resource of changed()) if (resource.polling) void resource.refresh();
    return failure;
  };
  return {
    list,
    changed,
    one: (id) =>
      follow(
        new Resource<Hits | undefined>(async (signal) => {
          const { maintenance, hits, hitsOmitted } = await api.circuits.listMaintenance({ id }, { signal });
          return { maintenance: maintenance[0], hits, omitted: hitsOmitted };
        }, always(5000)),
      ),
    ask: (plan, by) =>
      follow(
        new Resource<PlanAnswer | undefined>((signal) => wouldHit(api, { ...plan, by, dryRun: true }, signal), dryRun),
      ),
    plan: (plan, by) => act(() => api.circuits.addMaintenance({ ...plan, by })),
    remove: (id, { by, note }) => act(() => api.circuits.removeMaintenance({ id, by, note })),
  };
}

async function wouldHit(api: Pick<Api, "circuits">, plan: MaintenanceInit, signal: AbortSignal): Promise<PlanAnswer> {
  try {
    const { maintenance, hits, hitsOmitted } = await api.circuits.addMaintenance(plan, { signal });
    return { maintenance, hits, omitted: hitsOmitted };
  } catch (reason) {
    const refusal = refusalOf(reason);
    if (!refusal) throw new Error(errorText(reason), { cause: reason });
    return { refusal };
  }
}
