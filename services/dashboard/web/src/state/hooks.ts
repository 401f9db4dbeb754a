import { createContext, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { type LinkNames, linkNames } from "../model/circuits";
import type { Call } from "../model/permissions";
import { buildGraph, type Graph, nameOfAddress } from "../model/topology";
import { type Millis, millis } from "../model/units";
import { formatUrlState, parseUrlState, type UrlState } from "../model/urlState";
import type { Stream } from "./eventStream";
import type { Identity, Session } from "./identity";
import type { Known, Resource } from "./resource";
import type { Store } from "./store";

export const StoreContext = createContext<Store | undefined>(undefined);

export const SessionContext = createContext<Session | undefined>(undefined);

/** Who looks at the page: nobody is known where the gateway asks for no login. */
export function useIdentity(): Identity | undefined {
  const session = useContext(SessionContext);
  return useSyncExternalStore(session?.subscribe ?? unchanging, () => session?.get());
}

const unchanging = () => () => undefined;

/** Why the login may not make a call, such as ChangeService.method.approve; undefined where it may, as far as is known. */
export function useRefusal(call: Call): string | undefined {
  const session = useContext(SessionContext);
  return useSyncExternalStore(session?.subscribe ?? unchanging, () => session?.refusal(call));
}

/** Whether the person at this browser may have an operator's calls, as far as logins say; the services decide. */
export function useMayOperate(): boolean {
  const identity = useIdentity();
  return identity?.state !== "in" || identity.role !== "viewer";
}

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("useStore needs a StoreContext above it");
  return store;
}

export function useResource<T>(resource: Resource<T>): Known<T> {
  return useSyncExternalStore(resource.subscribe, resource.get, resource.get);
}

/** A resource that is polled only while a component shows it. */
export function useLive<T>(resource: Resource<T>): Known<T> {
  useEffect(() => resource.start(), [resource]);
  return useResource(resource);
}

export function useStream(): Stream {
  const { events } = useStore();
  return useSyncExternalStore(events.subscribe, events.get);
}

/** Something derived from the time; the component renders again only when it changes. */
export function useTime<T extends string | number>(derive: (now: Millis) => T): T {
  const { clock } = useStore();
  const derived = () => derive(clock.now());
  return useSyncExternalStore(clock.subscribe, derived, derived);
}

/** Resolution of the map's time, which decides only when a load is too old to show. */
const graphStep = 5000;

export function useGraph(): Graph {
  const { network } = useStore();
  const topology = useResource(network.topology).data;
  const devices = useResource(network.devices).data;
  const counters = useResource(network.counters).data;
  const now = useTime((t) => millis(t - (t % graphStep)));
  return useMemo(
    () => buildGraph(topology, devices ?? [], counters ?? new Map(), now),
    [topology, devices, counters, now],
  );
}

/** The value of an earlier render as long as an equal one is given, so that what depends on it is not computed again. */
export function useEqual<T>(value: T, equal: (a: T, b: T) => boolean): T {
  const [kept, keep] = useState(value);
  if (kept === value || equal(kept, value)) return kept;
  keep(value);
  return value;
}

const onUrl = (listener: () => void) => {
  window.addEventListener("popstate", listener);
  return () => window.removeEventListener("popstate", listener);
};

/** The selection is kept in the address alone, so that back, reload and sent links work. */
export function useUrlState(): [UrlState, (part: Partial<UrlState>) => void] {
  const search = useSyncExternalStore(onUrl, () => location.search);
  const state = useMemo(() => parseUrlState(search), [search]);
  const update = useCallback((part: Partial<UrlState>) => {
    const next = formatUrlState({ ...parseUrlState(location.search), ...part });
    if (next === location.search) return;
    history.pushState(null, "", next || location.pathname);
    window.dispatchEvent(new PopStateEvent("popstate"));
  }, []);
  return [state, update];
}

/** The value once it has not changed for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Names of routers by their ids, and of links. */
export function useNames(): { routerName: (id: string) => string; linkName: LinkNames } {
  const { topology } = useStore().network;
  const snapshot = useResource(topology).data;
  return useMemo(
    () => ({ routerName: (id) => nameOfAddress(snapshot, id), linkName: linkNames(snapshot) }),
    [snapshot],
  );
}
