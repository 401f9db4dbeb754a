import type { Port } from "../gen/millrace/split/v1/split_pb";
import { byNeed, shareText, toneOf } from "../model/split";
import { useResource, useStore } from "../state/hooks";
import { Badge, Panel } from "./Panel";
import { Ago } from "./time";

/** The split of each port; the panel is there only while the policy in force has one that is followed. */
export function SplitPanel({ onChange }: { onChange: (id: string) => void }) {
  const splits = useResource(useStore().network.splits);
  const ports = byNeed(splits.data?.ports ?? []);
  if (ports.length === 0) return null;
  return (
    <Panel title="Split" testId="split" source={splits} aside={<span className="dim">{splits.data?.policy}</span>}>
      <table>
        <thead>
          <tr>
            <th>Port</th>
            <th className="num">Beta has</th>
            <th className="num">Should have</th>
            <th className="num">Counted</th>
            <th>Decision</th>
          </tr>
        </thead>
        <tbody>
          {ports.map((p) => (
            <SplitRow key={`${p.router} ${p.interface}`} port={p} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function SplitRow({ port: p, onChange }: { port: Port; onChange: (id: string) => void }) {
  return (
    <tr data-testid="split-port" title={p.why}>
      <td>
        {p.router} {p.interface} <span className="dim">{p.follow}</span>
      </td>
      <td className="num">{shareText(p.share)}</td>
      <td className="num">{shareText(p.should)}</td>
      <td className="num">
        <Ago at={p.sampled} />
      </td>
      <td>
        <Badge tone={toneOf(p)}>{p.rule}</Badge>{" "}
        {p.change && (
          <button type="button" className="link" onClick={() => onChange(p.change)}>
            {p.change}
          </button>
        )}
      </td>
    </tr>
  );
}
