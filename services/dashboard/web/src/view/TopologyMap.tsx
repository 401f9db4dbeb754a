import { useMemo, useRef, useState } from "react";
import type { Drift } from "../gen/millrace/push/v1/drift_pb";
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import { driftAt } from "../model/drift";
import { pathBeside, type Size } from "../model/geometry";
import { freezeAt } from "../model/guards";
import { layout, type Point, sameShape } from "../model/layout";
import type { LspOverlay } from "../model/lsp";
import type { Graph } from "../model/topology";
import { useEqual } from "../state/hooks";
import { EdgeLabel } from "./EdgeLabel";
import { EdgeLines } from "./EdgeLines";
import { fewEdges, mapLabels } from "./mapLabels";
import { RouterBox } from "./RouterBox";
import { useSize } from "./useSize";

interface Props {
  graph: Graph;
  overlays: Pick<LspOverlay, "name" | "router" | "status" | "path" | "broken">[];
  drifts: readonly Drift[];
  freezes: readonly Freeze[];
  label: string;
}

/** With more routers than this, their boxes shrink to the names; the rest shows on hover. */
const fewRouters = 10;
const largeBox: Size = { width: 104, height: 44 };
const smallBox: Size = { width: 56, height: 24 };

const lspOffset = 15;
const lspSpacing = 6;

export function TopologyMap({ graph, overlays, drifts, freezes, label }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [hovered, setHovered] = useState<string>();
  const few = graph.routers.length <= fewRouters;
  const box = few ? largeBox : smallBox;
  // Loads change every two seconds, positions only with the network and the window.
  const shape = useEqual(graph, sameShape);
  const positions = useMemo(() => layout(shape, mapArea(size, box, shape.edges.length)), [shape, size, box]);
  const position = (id: string): Point => positions.get(id) ?? { x: size.width / 2, y: size.height / 2 };
  return (
    <div className="map" ref={frame}>
      {size.width > 0 && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          <Arrows />
          {overlays.map((l, i) => (
            <path
              key={`${l.status} ${l.router} ${l.name}`}
              className={`lsp ${l.status} ${l.broken ? "broken" : ""}`}
              d={pathBeside(l.path.map(position), box, lspOffset + i * lspSpacing)}
              markerEnd="url(#lsp-arrow)"
            />
          ))}
          {graph.edges.map((e) => (
            <g key={e.id} onPointerEnter={() => setHovered(e.id)} onPointerLeave={() => setHovered(undefined)}>
              <EdgeLines edge={e} edges={graph.edges} a={position(e.a)} b={position(e.b)} box={box} />
            </g>
          ))}
          {graph.routers.map((r) => (
            <RouterBox
              key={r.id}
              router={r}
              at={position(r.id)}
              box={box}
              address={few}
              drift={driftAt(drifts, r.name)}
              freeze={r.state === "unmanaged" ? undefined : freezeAt(freezes, r.name)}
            />
          ))}
          {mapLabels({ graph, positions, box, frame: size, hovered }).map((l) =>
            l.short ? (
              <text key={l.edge.id} className={`hot ${l.level}`} x={l.x} y={l.y + 4}>
                {l.short}
              </text>
            ) : (
              <EdgeLabel key={l.edge.id} edge={l.edge} graph={graph} at={l} size={l} />
            ),
          )}
        </svg>
      )}
    </div>
  );
}

/** Leaves room at the border for router boxes and, where links are labelled, for a label below; never taller than wide. */
function mapArea(size: Size, box: Size, edges: number) {
  const margin = 12;
  const below = edges <= fewEdges ? 48 : 0;
  const tall = Math.max(0, size.height - 0.9 * size.width) / 2;
  const x = box.width / 2 + margin + (edges <= fewEdges ? 18 : 0);
  const y = box.height / 2 + margin + tall;
  return { left: x, right: Math.max(x, size.width - x), top: y, bottom: Math.max(y, size.height - y - below) };
}

function Arrows() {
  return (
    <defs>
      <marker
        id="lsp-arrow"
        viewBox="0 0 10 10"
        refX="7"
        refY="5"
        markerWidth="12"
        markerHeight="12"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path className="arrow" d="M0 0L10 5L0 10Z" />
      </marker>
    </defs>
  );
}
