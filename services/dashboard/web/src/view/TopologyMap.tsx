import { useMemo, useRef, useState } from "react";
import {
  labelBeside,
  lane,
  middle,
  type Placed,
  pathBeside,
  rightOf,
  type Size,
  withoutOverlap,
} from "../model/geometry";
import { layout, type Point } from "../model/layout";
import type { LspOverlay } from "../model/lsp";
import { type Edge, type Graph, type Lane, type LoadLevel, loadLevel, type Router } from "../model/topology";
import { formatRate, formatShare } from "../model/units";
import { EdgeLabel, labelSize } from "./EdgeLabel";
import { useSize } from "./useSize";

interface Props {
  graph: Graph;
  overlays: LspOverlay[];
  label: string;
}

/** Above these the map shows less per router and per link, and the rest on hover. */
const fewRouters = 10;
const fewEdges = 8;

const laneOffset = 5;
const lspOffset = 15;
const lspSpacing = 6;

export function TopologyMap({ graph, overlays, label }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [hovered, setHovered] = useState<string>();
  const few = graph.routers.length <= fewRouters;
  const box: Size = few ? { width: 104, height: 44 } : { width: 56, height: 24 };
  // Loads change every two seconds, places only when the network or the window does.
  const shape = `${graph.routers.map((r) => r.id)} ${graph.edges.map((e) => [e.a, e.b])} ${size.width} ${size.height}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: shape stands for the parts of graph and size that matter
  const places = useMemo(() => layout(graph, frameBox(size, box, graph.edges.length)), [shape]);
  const place = (id: string): Point => places.get(id) ?? { x: size.width / 2, y: size.height / 2 };
  const labels = placeLabels(graph, places, box, size, hovered);
  return (
    <div className="map" ref={frame}>
      {size.width > 0 && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          <Arrows />
          {overlays.map((l, i) => (
            <path
              key={`${l.status} ${l.router} ${l.name}`}
              className={`lsp ${l.status} ${l.broken ? "broken" : ""}`}
              d={pathBeside(l.path.map(place), box, lspOffset + i * lspSpacing)}
              markerEnd="url(#lsp-arrow)"
            />
          ))}
          {graph.edges.map((e) => (
            <g key={e.id} onPointerEnter={() => setHovered(e.id)} onPointerLeave={() => setHovered(undefined)}>
              <EdgeLines edge={e} a={place(e.a)} b={place(e.b)} box={box} shift={parallelShift(graph.edges, e)} />
            </g>
          ))}
          {graph.routers.map((r) => (
            <RouterBox key={r.id} router={r} at={place(r.id)} box={box} few={few} />
          ))}
          {labels.map((l) =>
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

interface EdgeText extends Placed {
  edge: Edge;
  /** Instead of the whole label. */
  short?: string;
  level: LoadLevel;
}

/** A label for each link where there is room; elsewhere only links that are filling up say how far. */
function placeLabels(
  graph: Graph,
  places: ReadonlyMap<string, Point>,
  box: Size,
  frame: Size,
  hovered: string | undefined,
): EdgeText[] {
  const place = (id: string): Point => places.get(id) ?? { x: 0, y: 0 };
  const routers = graph.routers.map((r) => ({ ...place(r.id), ...box }));
  const centre = { x: frame.width / 2, y: mean(routers.map((r) => r.y)) };
  const whole = (e: Edge): EdgeText => {
    const size = labelSize(e, graph);
    const at = labelBeside(place(e.a), place(e.b), size, centre, 16, frame);
    return { edge: e, level: "unknown", ...size, ...at };
  };
  const wanted = graph.edges.length <= fewEdges ? graph.edges : [];
  const labels = withoutOverlap(wanted.map(whole), routers);
  const rest = graph.edges.filter((e) => !labels.some((l) => l.edge === e));
  const short = rest.flatMap((e) => shortLabel(e, place(e.a), place(e.b)) ?? []);
  labels.push(...withoutOverlap(short, [...routers, ...labels]));
  const asked = rest.find((e) => e.id === hovered);
  return asked ? [...labels, whole(asked)] : labels;
}

/** Share of the link beside its busier lane; undefined where that is not worth saying. */
function shortLabel(edge: Edge, a: Point, b: Point): EdgeText | undefined {
  const hottest = edge.lanes.reduce<Lane | undefined>((x, l) => ((l.load ?? 0) > (x?.load ?? 0) ? l : x), undefined);
  const level = loadLevel(hottest?.load);
  if (!hottest?.load || level === "low") return undefined;
  const size = { width: 32, height: 12 };
  const beside = hottest.from === edge.a ? rightOf(a, b) : rightOf(b, a);
  const reach = laneOffset + 6 + (Math.abs(beside.x) * size.width + Math.abs(beside.y) * size.height) / 2;
  const m = middle({ from: a, to: b });
  const at = { x: m.x + beside.x * reach, y: m.y + beside.y * reach };
  return { edge, level, short: formatShare(hottest.load), ...size, ...at };
}

const mean = (v: number[]) => v.reduce((x, y) => x + y, 0) / (v.length || 1);

/** Leaves room at the border for router boxes and, where links are labelled, for a label below; never taller than wide. */
function frameBox(size: Size, box: Size, edges: number) {
  const margin = 12;
  const below = edges <= fewEdges ? 48 : 0;
  const tall = Math.max(0, size.height - 0.9 * size.width) / 2;
  const x = box.width / 2 + margin + (edges <= fewEdges ? 18 : 0);
  const y = box.height / 2 + margin + tall;
  return { left: x, right: Math.max(x, size.width - x), top: y, bottom: Math.max(y, size.height - y - below) };
}

/** Links between the same two routers lie side by side. */
function parallelShift(edges: readonly Edge[], edge: Edge): number {
  const same = edges.filter((e) => (e.a === edge.a && e.b === edge.b) || (e.a === edge.b && e.b === edge.a));
  return (same.indexOf(edge) - (same.length - 1) / 2) * 26 * (edge.a < edge.b ? 1 : -1);
}

interface EdgeProps {
  edge: Edge;
  a: Point;
  b: Point;
  box: Size;
  shift: number;
}

function EdgeLines({ edge, a, b, box, shift }: EdgeProps) {
  const reach = lane(a, b, box, shift);
  const title = edge.lanes.map(laneText).join("\n");
  return (
    <g className={edge.up ? "edge" : "edge down"} data-testid="edge">
      <title>{edge.up ? title : `${title}\nthe way back is down`}</title>
      <line className="touch" x1={reach.from.x} y1={reach.from.y} x2={reach.to.x} y2={reach.to.y} />
      {edge.lanes.map((l) => {
        const forth = l.from === edge.a;
        const at = forth ? lane(a, b, box, shift + laneOffset) : lane(b, a, box, laneOffset - shift);
        return (
          <line
            key={l.id}
            className={`lane ${loadLevel(l.load)}`}
            x1={at.from.x}
            y1={at.from.y}
            x2={at.to.x}
            y2={at.to.y}
            strokeWidth={1.5 + 5 * Math.min(l.load ?? 0, 1)}
          />
        );
      })}
    </g>
  );
}

function laneText(l: Lane): string {
  const rate = l.rate === undefined ? "rate unknown" : formatRate(l.rate);
  const load = l.load === undefined ? "" : `, ${formatShare(l.load)} of ${formatRate(l.capacity)}`;
  return `${l.from} ${l.port}: ${rate}${load}, metric ${l.metric}`;
}

function RouterBox({ router, at, box, few }: { router: Router; at: Point; box: Size; few: boolean }) {
  const second = router.state === "dark" ? "no telemetry" : router.loopback;
  return (
    <g
      className={`router ${router.state}`}
      transform={`translate(${at.x - box.width / 2} ${at.y - box.height / 2})`}
      data-testid={`router-${router.name}`}
      data-state={router.state}
    >
      <title>{routerText(router)}</title>
      <rect width={box.width} height={box.height} rx="7" />
      <text className="name" x={box.width / 2} y={few ? 19 : 16}>
        {router.name}
      </text>
      {few && (
        <text className="address" x={box.width / 2} y="34">
          {second}
        </text>
      )}
    </g>
  );
}

function routerText(r: Router): string {
  const lines = [`${r.name} ${r.loopback}`];
  if (r.sidLabel) lines.push(`node SID label ${r.sidLabel}`);
  if (r.prefixes.length) lines.push(`attaches ${r.prefixes.join(", ")}`);
  if (r.state === "foreign") lines.push("not in the inventory");
  if (r.error) lines.push(r.error);
  return lines.join("\n");
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
