// All that the page knows and can do. Views read it through the hooks in
// hooks.ts; nothing else talks to the API.
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { type Action, inMotion } from "../model/changes";
import { readScoreboard } from "../model/papers";
import { mostRows } from "../model/vpn";
import { EventStream } from "./eventStream";
import { Resource } from "./resource";
import { CounterReader } from "./telemetry";
import { VpnReader } from "./vpn";

export type Store = ReturnType<typeof createStore>;

/** Who acts, and why, as the change set's history will say. */
export interface Decision {
  by: string;
  note: string;
}

const always = (ms: number) => () => ms;

export function createStore(api: Api) {
  const reader = new CounterReader(api.store);
  const topology = new Resource(async (signal) => (await api.paths.topology({}, { signal })).snapshot, always(4000));
  const devices = new Resource(async (signal) => (await api.telemetry.devices({}, { signal })).devices, always(3000));
  const counters = new Resource((signal) => reader.read(signal), always(2000));
  const pairs = new Resource(async (signal) => (await api.alpha.list({}, { signal })).pairs, always(10_000));
  const quality = new Resource((signal) => api.collector.quality({}, { signal }), always(5000));
  const changes = new Resource(
    (signal) => loadChanges(api, signal),
    (list) => (list?.some((c) => inMotion(c.state)) ? 700 : 3000),
  );
  const vpnReader = new VpnReader(api.store);
  // These are asked for only while their page is open (useLive).
  const vpnFlows = new Resource((signal) => api.vpn.flows({ limit: mostRows }, { signal }), always(1000));
  const vpnSeries = new Resource((signal) => vpnReader.read(signal), always(1000));
  const vpnWeights = new Resource(async (signal) => await api.vpn.weights({}, { signal }), always(3000));
  const vpnHistory = new Resource(
    async (signal) => (await api.vpn.history({ limit: 50 }, { signal })).changes,
    always(10_000),
  );
  const papers = new Resource(async (signal) => readScoreboard(await api.papers(signal)), always(30_000));
  const events = new EventStream(api.events, (e) => {
    void changes.refresh();
    void pairs.refresh();
    if (!e.code.startsWith("vpn-")) return;
    for (const part of [vpnFlows, vpnWeights, vpnHistory]) if (part.running) void part.refresh();
  });

  function selectVpn(vpn: string | undefined) {
    if (vpnReader.select(vpn) && vpnSeries.running) void vpnSeries.refresh();
  }

  /** Does it, or says in one line why not. */
  async function act(action: Action, id: string, { by, note }: Decision): Promise<string | undefined> {
    try {
      if (action === "approve") await api.changes.approve({ id, by, note, apply: true });
      else if (action === "apply") await api.changes.apply({ id, by });
      else await api.changes.rollback({ id, by, note });
      return undefined;
    } catch (reason) {
      return errorText(reason);
    } finally {
      void changes.refresh();
    }
  }

  const all = [topology, devices, counters, pairs, quality, changes, events];
  function start(): () => void {
    const stops = all.map((part) => part.start());
    const onShow = () => {
      if (document.hidden) return;
      for (const part of all) if (part instanceof Resource) void part.refresh();
    };
    document.addEventListener("visibilitychange", onShow);
    return () => {
      document.removeEventListener("visibilitychange", onShow);
      for (const stop of stops) stop();
    };
  }

  return {
    ...{ topology, devices, counters, pairs, quality, changes, events, act, start },
    ...{ vpnFlows, vpnSeries, vpnWeights, vpnHistory, selectVpn, papers },
  };
}

const listed = 50;

/** Change sets, newest first, each with its plans and diffs. */
async function loadChanges(api: Api, signal: AbortSignal): Promise<ChangeSet[]> {
  const { changes } = await api.changes.list({ limit: listed }, { signal });
  return changes.sort(
    (a, b) => Number((b.created?.seconds ?? 0n) - (a.created?.seconds ?? 0n)) || b.id.localeCompare(a.id),
  );
}
