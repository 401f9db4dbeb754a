import { busiest, type Direction, type Graph, loadLevel } from "../model/topology";
import { formatRate, formatShare } from "../model/units";
import { Sparkline } from "./Sparkline";

/** The map's content as a table, busiest direction first. */
export function LinkTable({ graph }: { graph: Graph }) {
  const name = (id: string) => graph.routers.find((r) => r.id === id)?.name ?? id;
  return (
    <div className="scroll">
      <table data-testid="links">
        <thead>
          <tr>
            <th>Link</th>
            <th>Port</th>
            <th>Last 3 min</th>
            <th className="num">Rate</th>
            <th className="num">Load</th>
            <th>Queues</th>
            <th className="num">Metric</th>
          </tr>
        </thead>
        <tbody>
          {busiest(graph).map((l) => (
            <tr key={l.id}>
              <td>
                {name(l.from)} → {name(l.to)}
              </td>
              <td>{l.port}</td>
              <td>
                <Sparkline trend={l.trend} width={64} height={14} />
              </td>
              <td className="num">{l.rate === undefined ? "–" : formatRate(l.rate)}</td>
              <td className={`num load ${loadLevel(l.load)}`}>{l.load === undefined ? "–" : formatShare(l.load)}</td>
              <td className="dim">{queueText(l)}</td>
              <td className="num">{l.metric}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function queueText(l: Direction): string {
  const known = l.queues.filter((q) => q.rate !== undefined);
  return known.map((q) => `${q.name} ${q.rate === undefined ? "" : formatRate(q.rate)}`).join(", ") || "–";
}
