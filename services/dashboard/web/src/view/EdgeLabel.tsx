import { type Size, sparkline } from "../model/geometry";
import type { Point } from "../model/layout";
import { type Direction, type Edge, type Graph, loadLevel } from "../model/topology";
import { formatRate, formatShare } from "../model/units";

const row = 17;
const pad = 7;
const chart: Size = { width: 44, height: 11 };
const rateWidth = 76;
const shareWidth = 42;
/** Between names and chart. */
const gap = 8;
/** Of a character of the label's font, on the wide side. */
const charWidth = 6.9;

const names = (l: Direction, graph: Graph) => {
  const name = (id: string) => graph.routers.find((r) => r.id === id)?.name ?? id;
  return `${name(l.from)} → ${name(l.to)}`;
};

const nameWidth = (edge: Edge, graph: Graph) =>
  Math.max(...edge.directions.map((l) => names(l, graph).length)) * charWidth + gap;

/** Room that the label of a link takes. */
export function labelSize(edge: Edge, graph: Graph): Size {
  return {
    width: nameWidth(edge, graph) + chart.width + rateWidth + shareWidth + 2 * pad,
    height: row * edge.directions.length + 6,
  };
}

interface Props {
  edge: Edge;
  graph: Graph;
  at: Point;
  size: Size;
}

/** One line per direction: from and to, load over time, rate, share of the link. */
export function EdgeLabel({ edge, graph, at, size }: Props) {
  const width = nameWidth(edge, graph);
  return (
    <g className="edge-label" transform={`translate(${at.x - size.width / 2} ${at.y - size.height / 2})`}>
      <rect width={size.width} height={size.height} rx="5" />
      {edge.directions.map((l, i) => (
        <g key={l.id} transform={`translate(${pad} ${3 + row * i})`} className={loadLevel(l.load)}>
          <text y="12.5">{names(l, graph)}</text>
          <g className={`spark ${loadLevel(l.load)}`} transform={`translate(${width} 3)`}>
            <line x1="0" x2={chart.width} y1={chart.height} y2={chart.height} />
            <path d={sparkline(l.trend, chart, 1)} />
          </g>
          <text className="figure" x={width + chart.width + rateWidth} y="12.5">
            {l.rate === undefined ? "–" : formatRate(l.rate)}
          </text>
          <text className="figure strong" x={width + chart.width + rateWidth + shareWidth} y="12.5">
            {l.load === undefined ? "" : formatShare(l.load)}
          </text>
        </g>
      ))}
    </g>
  );
}
