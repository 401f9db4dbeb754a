import { useMemo } from "react";
import { awaiting } from "../model/changes";
import { driftText } from "../model/drift";
import { type LspOverlay, overlays } from "../model/lsp";
import { describeGraph, type Graph } from "../model/topology";
import type { MapView } from "../model/urlState";
import { useGraph, useResource, useStore } from "../state/hooks";
import { LinkTable } from "./LinkTable";
import { Empty, NotKnown, Panel } from "./Panel";
import { TopologyMap } from "./TopologyMap";

interface Props {
  /** The change set whose LSPs are previewed; without one, the newest that awaits approval. */
  selected: string | undefined;
  view: MapView;
  onView: (view: MapView) => void;
  onChange: (id: string) => void;
}

export function TopologyPanel({ selected, view, onView, onChange }: Props) {
  const store = useStore();
  const topology = useResource(store.network.topology);
  const changes = useResource(store.changes.list).data;
  const devices = useResource(store.network.devices);
  const counters = useResource(store.network.counters);
  const drift = useResource(store.changes.drift);
  const drifts = drift.data ?? [];
  const freezes = useResource(store.changes.freezes).data ?? [];
  const graph = useGraph();
  const lsps = useMemo(
    () => overlays(changes ?? [], graph, selected ?? awaiting(changes ?? [])[0]?.id),
    [changes, graph, selected],
  );
  const unreachable = graph.routers.filter((r) => r.state === "unreachable");
  const source = topology.data?.source;
  return (
    <Panel
      title="Topology"
      className="topology"
      testId="topology"
      source={topology}
      aside={
        <>
          {source && <span className="dim">link state from {source}</span>}
          <fieldset className="switch">
            <legend className="hidden">Show links as</legend>
            {(["map", "table"] as const).map((v) => (
              <button key={v} type="button" aria-pressed={view === v} onClick={() => onView(v)}>
                {v === "map" ? "Map" : "Table"}
              </button>
            ))}
          </fieldset>
        </>
      }
    >
      <NotKnown what="which routers answer" source={devices} />
      <NotKnown what="what links carry" source={counters} />
      <NotKnown what="where running configs differ from what change sets left" source={drift} />
      {graph.routers.length === 0 ? (
        <Empty title="No routers yet.">
          Add them to the inventory and start their agents. The map appears once one of them reports its link-state
          database.
        </Empty>
      ) : view === "map" ? (
        <TopologyMap graph={graph} overlays={lsps} drifts={drifts} freezes={freezes} label={describeGraph(graph)} />
      ) : (
        <LinkTable graph={graph} />
      )}
      {(unreachable.length > 0 || drifts.length > 0 || lsps.length > 0) && (
        <ul className="legend" aria-label="LSPs and problems">
          {unreachable.map((r) => (
            <li key={r.id} className="bad">
              <strong>{r.name}</strong> {r.error}
            </li>
          ))}
          {drifts.map((d) => (
            <li key={d.router} className="bad" data-testid={`legend-drift-${d.router}`}>
              <strong>{d.router}</strong>
              <span>{driftText(d)}</span>
              <button type="button" className="link" onClick={() => onChange(d.repair || d.change)}>
                {d.repair ? `repair ${d.repair}` : d.change}
              </button>
            </li>
          ))}
          {lsps.map((l) => (
            <LspLine key={`${l.status} ${l.router} ${l.name}`} lsp={l} graph={graph} onChange={onChange} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function LspLine({ lsp, graph, onChange }: { lsp: LspOverlay; graph: Graph; onChange: (id: string) => void }) {
  const name = (id: string) => graph.routers.find((r) => r.id === id)?.name ?? id;
  return (
    <li title={lsp.reason} data-testid="lsp" data-status={lsp.status}>
      <svg className={`key ${lsp.status}`} width="26" height="8" aria-hidden="true">
        <line x1="2" x2="24" y1="4" y2="4" />
      </svg>
      <strong>{lsp.name}</strong>
      <span>{lsp.path.map(name).join(" → ")}</span>
      <span className="dim">
        {lsp.pairs.length} {lsp.pairs.length === 1 ? "pair" : "pairs"}
        {lsp.queue && `, queue ${lsp.queue}`}
      </span>
      {lsp.broken && <span className="badge bad">no path along its hops</span>}
      <button type="button" className="link" onClick={() => onChange(lsp.change)}>
        {lsp.status === "planned" ? `planned in ${lsp.change}` : lsp.change}
      </button>
    </li>
  );
}
