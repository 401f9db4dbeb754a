import { createContext, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { type Millis, millis } from "../model/units";
import { formatUrlState, parseUrlState, type UrlState } from "../model/urlState";
import type { Stream } from "./eventStream";
import type { Known, Resource } from "./resource";
import type { Store } from "./store";

export const StoreContext = createContext<Store | undefined>(undefined);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("useStore needs a StoreContext above it");
  return store;
}

export function useResource<T>(resource: Resource<T>): Known<T> {
  return useSyncExternalStore(resource.subscribe, resource.get);
}

/** A resource that is asked for only while somebody looks at it. */
export function useLive<T>(resource: Resource<T>): Known<T> {
  useEffect(() => resource.start(), [resource]);
  return useResource(resource);
}

export function useStream(): Stream {
  const { events } = useStore();
  return useSyncExternalStore(events.subscribe, events.get);
}

/** The time, moving once a second. */
export function useNow(): Millis {
  const [now, setNow] = useState(() => millis(Date.now()));
  useEffect(() => {
    const timer = setInterval(() => setNow(millis(Date.now())), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const onUrl = (listener: () => void) => {
  window.addEventListener("popstate", listener);
  return () => window.removeEventListener("popstate", listener);
};

/** What is selected lives in the address bar alone, so that back, reload and sent links just work. */
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
