import type { Change, Pe, WeightsResponse } from "../gen/millrace/vpn/v1/vpn_pb";
import { peState, weightConcerns, weightList, weightText } from "../model/vpn";
import { useLive, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { Ago, TimeOfDay } from "./time";

/** The weights in force, the PEs that have them, and their changes. */
export function VpnWeightsPanel() {
  const store = useStore();
  const weights = useLive(store.vpn.weights);
  const history = useLive(store.vpn.history).data ?? [];
  const w = weights.data;
  return (
    <Panel
      title="Weights"
      className="weights"
      testId="vpn-weights"
      source={weights}
      aside={w?.change && <span className="dim">version {String(w.version?.number)}</span>}
    >
      {w && <InForce weights={w} />}
      {w && <PeTable weights={w} />}
      {history.length > 0 && (
        <ol className="weight-changes" aria-label="Changes of weights, newest first">
          {history.map((c) => (
            <ChangeItem key={String(c.version?.number)} change={c} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function InForce({ weights: w }: { weights: WeightsResponse }) {
  if (!w.change)
    return (
      <Empty title="The control plane has set no weights.">
        PEs use their local ones. Set <code>vpn.dir</code> to a folder of policies, or use{" "}
        <code>millrace vpn weights</code>.
      </Empty>
    );
  return (
    <div className="in-force">
      <p>
        <strong>{w.criterion}</strong>
        {w.policy && <span className="dim"> by policy {w.policy}</span>}
      </p>
      <p data-testid="vpn-weight-list">{weightList(w.weights)}</p>
      {weightConcerns(w).map((text) => (
        <p key={text} className="problem" role="status">
          {text}
        </p>
      ))}
    </div>
  );
}

function PeTable({ weights: w }: { weights: WeightsResponse }) {
  if (w.pes.length === 0) return null;
  return (
    <table>
      <thead>
        <tr>
          <th>PE</th>
          <th className="num">Version</th>
          <th className="num">Flows</th>
          <th className="num">Last update</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {w.pes.map((p) => (
          <PeRow key={p.name} pe={p} inForce={w.change !== undefined} />
        ))}
      </tbody>
    </table>
  );
}

function PeRow({ pe, inForce }: { pe: Pe; inForce: boolean }) {
  const { text, tone } = peState(pe, inForce);
  const version = pe.version?.number ?? 0n;
  return (
    <tr data-testid={`pe-${pe.name}`} data-state={text}>
      <td title={`${pe.address}${pe.mode && `, mode ${pe.mode}`}`}>{pe.name}</td>
      <td className="num">{version > 0n ? String(version) : "local"}</td>
      <td className="num">{pe.flows}</td>
      <td className="num">
        <Ago at={pe.lastUpdate} />
      </td>
      <td title={pe.error}>
        <Badge tone={tone}>{text}</Badge>
      </td>
    </tr>
  );
}

function ChangeItem({ change: c }: { change: Change }) {
  return (
    <li data-testid="vpn-change">
      <p>
        <strong>{String(c.version?.number)}</strong> <TimeOfDay at={c.time} /> <span>{c.by}</span>
        {c.restored > 0n && <span className="dim"> rolled back to {String(c.restored)}</span>}
      </p>
      <p className="dim">{c.reason}</p>
      {c.diff.map((d) => (
        <p key={d.vpn}>
          {d.vpn} <span className="del">{weightText(d.before)}</span> →{" "}
          <span className="add">{weightText(d.after)}</span>
        </p>
      ))}
    </li>
  );
}
