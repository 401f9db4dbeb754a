import { useMemo } from "react";
import { awaiting } from "../model/changes";
import { overlays } from "../model/lsp";
import { buildGraph } from "../model/topology";
import { useNow, useResource, useStore, useUrlState } from "../state/hooks";
import { ChangesPanel } from "./ChangesPanel";
import { EventsPanel } from "./EventsPanel";
import { Header } from "./Header";
import { PairsPanel } from "./PairsPanel";
import { PapersPage } from "./PapersPage";
import { QualityPanel } from "./QualityPanel";
import { TopologyPanel } from "./TopologyPanel";
import { VpnPage } from "./VpnPage";

export function App() {
  const store = useStore();
  const now = useNow();
  const [url, setUrl] = useUrlState();
  const topology = useResource(store.topology).data;
  const devices = useResource(store.devices).data;
  const counters = useResource(store.counters).data;
  const changes = useResource(store.changes).data;
  const graph = useMemo(
    () => buildGraph(topology, devices ?? [], counters ?? new Map(), now),
    [topology, devices, counters, now],
  );
  const preview = url.change ?? awaiting(changes ?? [])[0]?.id;
  const lsps = useMemo(() => overlays(changes ?? [], graph, preview), [changes, graph, preview]);
  const selectChange = (change: string | undefined) => setUrl({ change });
  const selectPair = (pair: string | undefined) => setUrl({ pair });
  return (
    <div className="app">
      <Header
        graph={graph}
        selected={url.page ? undefined : url.change}
        page={url.page}
        onPage={(page) => setUrl({ page })}
        onChange={(change) => setUrl({ change, page: undefined })}
      />
      {url.page === "vpns" && <VpnPage now={now} selected={url.vpn} onSelect={(vpn) => setUrl({ vpn })} />}
      {url.page === "papers" && (
        <PapersPage now={now} paper={url.paper} outcome={url.outcome} onFilter={(filter) => setUrl(filter)} />
      )}
      {!url.page && (
        <main className={url.change ? "reading" : ""}>
          <div className="column">
            <TopologyPanel
              graph={graph}
              overlays={lsps}
              now={now}
              view={url.view}
              onView={(view) => setUrl({ view })}
              onChange={selectChange}
            />
            <PairsPanel now={now} selected={url.pair} onSelect={selectPair} />
            <QualityPanel now={now} />
          </div>
          <div className="column">
            <ChangesPanel now={now} selected={url.change} onSelect={selectChange} onPair={selectPair} />
            <EventsPanel now={now} />
          </div>
        </main>
      )}
    </div>
  );
}
