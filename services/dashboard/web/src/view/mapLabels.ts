// Which links of the map are labelled, and where.
import { labelBeside, middle, type Placed, rightOf, type Size, withoutOverlap } from "../model/geometry";
import type { Point } from "../model/layout";
import { type Direction, type Edge, type Graph, type LoadLevel, loadLevel } from "../model/topology";
import { formatShare } from "../model/units";
import { labelSize } from "./EdgeLabel";
import { directionOffset } from "./EdgeLines";

/** With more links than this, only loaded ones have a label, and the one under the pointer. */
export const fewEdges = 8;

export interface MapLabel extends Placed {
  edge: Edge;
  /** Instead of the whole label. */
  short?: string;
  level: LoadLevel;
}

interface MapView {
  graph: Graph;
  positions: ReadonlyMap<string, Point>;
  /** Size of a router's box. */
  box: Size;
  frame: Size;
  /** The link under the pointer. */
  hovered: string | undefined;
}

/** A whole label for each link where there is room; elsewhere loaded links show their load alone. */
export function mapLabels({ graph, positions, box, frame, hovered }: MapView): MapLabel[] {
  const position = (id: string): Point => positions.get(id) ?? { x: 0, y: 0 };
  const routers = graph.routers.map((r) => ({ ...position(r.id), ...box }));
  const centre = { x: frame.width / 2, y: mean(routers.map((r) => r.y)) };
  const whole = (e: Edge): MapLabel => {
    const size = labelSize(e, graph);
    return {
      edge: e,
      level: "unknown",
      ...size,
      ...labelBeside(position(e.a), position(e.b), size, centre, 16, frame),
    };
  };
  const wanted = graph.edges.length <= fewEdges ? graph.edges : [];
  const labels = withoutOverlap(wanted.map(whole), routers);
  const rest = graph.edges.filter((e) => !labels.some((l) => l.edge === e));
  const short = rest.flatMap((e) => shortLabel(e, position(e.a), position(e.b)) ?? []);
  labels.push(...withoutOverlap(short, [...routers, ...labels]));
  const pointed = rest.find((e) => e.id === hovered);
  return pointed ? [...labels, whole(pointed)] : labels;
}

/** The load beside the busier direction; undefined where it is low. */
function shortLabel(edge: Edge, a: Point, b: Point): MapLabel | undefined {
  const busier = edge.directions.reduce<Direction | undefined>(
    (x, d) => ((d.load ?? 0) > (x?.load ?? 0) ? d : x),
    undefined,
  );
  const level = loadLevel(busier?.load);
  if (!busier?.load || level === "low") return undefined;
  const size = { width: 32, height: 12 };
  const beside = busier.from === edge.a ? rightOf(a, b) : rightOf(b, a);
  const reach = directionOffset + 6 + (Math.abs(beside.x) * size.width + Math.abs(beside.y) * size.height) / 2;
  const m = middle({ from: a, to: b });
  const at = { x: m.x + beside.x * reach, y: m.y + beside.y * reach };
  return { edge, level, short: formatShare(busier.load), ...size, ...at };
}

const mean = (v: number[]) => v.reduce((x, y) => x + y, 0) / (v.length || 1);
