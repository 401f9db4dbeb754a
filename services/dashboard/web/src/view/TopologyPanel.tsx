import { useMemo } from "react";
import type { LspOverlay } from "../model/lsp";
import { describeGraph, type Graph } from "../model/topology";
import type { Millis } from "../model/units";
import type { MapView } from "../model/urlState";
import { useResource, useStore } from "../state/hooks";
import { LinkTable } from "./LinkTable";
import { Empty, Panel } from "./Panel";
import { TopologyMap } from "./TopologyMap";

interface Props {
  graph: Graph;
  overlays: LspOverlay[];
  now: Millis;
  view: MapView;
  onView: (view: MapView) => void;
  onChange: (id: string) => void;
}

export function TopologyPanel({ graph, overlays, now, view, onView, onChange }: Props) {
  const store = useStore();
  const topology = useResource(store.topology);
  const dark = useMemo(() => graph.routers.filter((r) => r.state === "dark"), [graph]);
  const source = topology.data?.source;
  return (
    <Panel
      title="Topology"
      className="topology"
      testId="topology"
      source={topology}
      now={now}
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
      {graph.routers.length === 0 ? (
        <Empty title="No routers yet.">
          Name them in the inventory and start their agents; the map appears once one of them answers with its
          link-state database.
        </Empty>
      ) : view === "map" ? (
        <TopologyMap graph={graph} overlays={overlays} label={describeGraph(graph)} />
      ) : (
        <LinkTable graph={graph} />
      )}
      {(dark.length > 0 || overlays.length > 0) && (
        <ul className="legend" aria-label="LSPs and problems">
          {dark.map((r) => (
            <li key={r.id} className="bad">
              <strong>{r.name}</strong> {r.error}
            </li>
          ))}
          {overlays.map((l) => (
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
      {lsp.broken && <span className="badge bad">no way along its hops</span>}
      <button type="button" className="link" onClick={() => onChange(lsp.change)}>
        {lsp.status === "planned" ? `planned in ${lsp.change}` : lsp.change}
      </button>
    </li>
  );
}
