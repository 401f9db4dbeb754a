import { lineBeside, type Size } from "../model/geometry";
import type { Point } from "../model/layout";
import { type Direction, type Edge, loadLevel } from "../model/topology";
import { formatRate, formatShare } from "../model/units";

/** Distance of a direction's line from the middle of its link. */
export const directionOffset = 5;
/** Distance between parallel links. */
const parallelSpacing = 26;

interface Props {
  edge: Edge;
  /** All edges of the map. */
  edges: readonly Edge[];
  a: Point;
  b: Point;
  box: Size;
}

/** A link on the map: one line per direction, as wide as its load. */
export function EdgeLines({ edge, edges, a, b, box }: Props) {
  const shift = parallelShift(edges, edge);
  const reach = lineBeside(a, b, box, shift);
  const title = edge.directions.map(directionText).join("\n");
  return (
    <g className={edge.up ? "edge" : "edge down"} data-testid="edge">
      <title>{edge.up ? title : `${title}\nthe opposite direction is down`}</title>
      <line className="touch" x1={reach.from.x} y1={reach.from.y} x2={reach.to.x} y2={reach.to.y} />
      {edge.directions.map((d) => {
        const forward = d.from === edge.a;
        const at = forward
          ? lineBeside(a, b, box, shift + directionOffset)
          : lineBeside(b, a, box, directionOffset - shift);
        return (
          <line
            key={d.id}
            className={`direction ${loadLevel(d.load)}`}
            x1={at.from.x}
            y1={at.from.y}
            x2={at.to.x}
            y2={at.to.y}
            strokeWidth={1.5 + 5 * Math.min(d.load ?? 0, 1)}
          />
        );
      })}
    </g>
  );
}

/** Links between the same two routers lie side by side. */
function parallelShift(edges: readonly Edge[], edge: Edge): number {
  const same = edges.filter((e) => (e.a === edge.a && e.b === edge.b) || (e.a === edge.b && e.b === edge.a));
  return (same.indexOf(edge) - (same.length - 1) / 2) * parallelSpacing * (edge.a < edge.b ? 1 : -1);
}

function directionText(d: Direction): string {
  const rate = d.rate === undefined ? "rate unknown" : formatRate(d.rate);
  const load = d.load === undefined ? "" : `, ${formatShare(d.load)} of ${formatRate(d.capacity)}`;
  return `${d.from} ${d.port}: ${rate}${load}, metric ${d.metric}`;
}
