// The page's state and actions. Views read it through the hooks in
// hooks.ts; nothing else calls the API.
import type { Api } from "../api/clients";
import type { Event } from "../gen/millrace/event/v1/event_pb";
import { readScoreboard, type Scoreboard } from "../model/papers";
import { type Leader, readLeaders } from "../model/replicas";
import { readVersion, type Version } from "../model/version";
import { AuditReader } from "./audit";
import { type ChangeStore, createChanges } from "./changes";
import { type CircuitStore, createCircuits } from "./circuits";
import { Clock } from "./clock";
import { EventStream } from "./eventStream";
import { createMaintenance, type MaintenanceStore } from "./maintenance";
import { createNetwork, type NetworkStore } from "./network";
import { always, type Polled, Resource } from "./resource";
import { createVpn, type VpnStore } from "./vpn";

export interface Store {
  clock: Clock;
  network: NetworkStore;
  changes: ChangeStore;
  circuits: CircuitStore;
  maintenance: MaintenanceStore;
  events: EventStream;
  vpn: VpnStore;
  /** The audit log, polled only while its page is open. */
  audit: AuditReader;
  /** The scoreboard, polled only while its page is open. */
  papers: Resource<Scoreboard>;
  /** Which replicas lead. */
  leaders: Resource<Leader[]>;
  /** What the gateway was built from; another answers after an upgrade. */
  version: Resource<Version>;
  /** Starts what every page needs; returns the function that stops it. */
  start: () => () => void;
}

export function createStore(api: Api): Store {
  const clock = new Clock();
  const network = createNetwork(api);
  const changes = createChanges(api);
  const vpn = createVpn(api);
  const circuits = createCircuits(api);
  const maintenance = createMaintenance(api);
  const audit = new AuditReader(api.audit);
  const papers = new Resource(async (signal) => readScoreboard(await api.papers(signal)), always(30_000));
  const leaders = new Resource(async (signal) => readLeaders(await api.replicas(signal)), always(10_000));
  const version = new Resource(async (signal) => readVersion(await api.version(signal)), always(60_000));
  const events = new EventStream(api.events, (e) => refreshAfter(e, { network, changes, vpn, circuits, maintenance }));
  const { redirect: _, ...read } = network;
  const polled: Polled[] = [...Object.values(read), changes.list, changes.freezes, changes.drift, leaders, version];
  const start = () => {
    const stops = [clock, events, ...polled].map((part) => part.start());
    const stopShowing = onShow(() => refresh(polled));
    return () => {
      stopShowing();
      for (const stop of stops) stop();
    };
  };
  return { clock, network, changes, circuits, maintenance, events, vpn, audit, papers, leaders, version, start };
}

/** An event reports that some resources have changed before their next poll. */
function refreshAfter(
  e: Event,
  {
    network,
    changes,
    vpn,
    circuits,
    maintenance,
  }: Omit<Store, "clock" | "events" | "audit" | "papers" | "leaders" | "version" | "start">,
) {
  refresh([changes.list, changes.freezes, network.pairs]);
  if (e.code.startsWith("alpha-") || e.code.startsWith("change-")) refresh([network.now]);
  if (e.code.startsWith("config-drift")) refresh([changes.drift]);
  if (e.code.startsWith("circuit-") || e.code.startsWith("maintenance-"))
    refresh([...circuits.changed(), ...maintenance.changed()]);
  if (e.code.startsWith("vpn-")) refresh([vpn.flows, vpn.weights, vpn.history]);
}

function refresh(resources: readonly Polled[]) {
  for (const resource of resources) if (resource.polling) void resource.refresh();
}

/** Calls back whenever the page becomes visible again; returns the function that ends that. */
function onShow(callback: () => void): () => void {
  const listener = () => {
    if (!document.hidden) callback();
  };
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
