import { useState } from "react";
import type { Flow } from "../gen/millrace/vpn/v1/vpn_pb";
import { bitsPerSecond, formatBytes, formatCount, formatRate } from "../model/units";
import { flowKey, found, pairText, phaseText, uncontrolled, weightText } from "../model/vpn";
import { useLive, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";

interface Props {
  selected: string | undefined;
  onSelect: (vpn: string | undefined) => void;
}

export function VpnFlowsPanel({ selected, onSelect }: Props) {
  const answer = useLive(useStore().vpn.flows);
  const [search, setSearch] = useState("");
  const all = answer.data?.flows ?? [];
  const rows = found(all, search);
  const unshaped = answer.data?.uncontrolled ?? 0;
  const total = answer.data?.total ?? 0;
  return (
    <Panel
      title="VPN flows"
      className="flows"
      testId="vpn-flows"
      source={answer}
      aside={
        <>
          {unshaped > 0 && <Badge tone="bad">{unshaped} uncontrolled</Badge>}
          <span className="dim">
            {total > all.length
              ? `top ${formatCount(all.length)} of ${formatCount(total)} by rate`
              : formatCount(rows.length)}
          </span>
          <input
            type="search"
            aria-label="Search VPN flows"
            placeholder="VPN, PE or state"
            value={search}
            onChange={(e) => setSearch(e.target.value)}
          />
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty title={all.length === 0 ? "No VPN flows." : "No VPN flow matches."}>
          A VPN flow is all traffic of one VPN from one PE to another.
        </Empty>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>VPN</th>
                <th>From → to</th>
                <th className="num">Weight</th>
                <th className="num">Rate</th>
                <th className="num">Fair share</th>
                <th className="num">Window</th>
                <th className="num">RTT</th>
                <th className="num">Loss</th>
                <th className="num">Queue</th>
                <th className="num">Drops</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((f) => (
                <FlowRow
                  key={flowKey(f)}
                  flow={f}
                  selected={f.vpn === selected}
                  onSelect={() => onSelect(f.vpn === selected ? undefined : f.vpn)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function FlowRow({ flow: f, selected, onSelect }: { flow: Flow; selected: boolean; onSelect: () => void }) {
  const unshaped = uncontrolled(f);
  return (
    <tr className={selected ? "selected" : ""} data-testid="vpn-flow" data-phase={f.phase}>
      <td>
        <button type="button" className="link" aria-pressed={selected} onClick={onSelect}>
          {f.vpn}
        </button>
      </td>
      <td title={`${f.ingress} → ${f.egress}`}>{pairText(f)}</td>
      <td className="num">{weightText(f.weight)}</td>
      <td className="num" title={f.rate > 0 ? `allowed ${formatRate(bitsPerSecond(f.rate))}` : "no limit"}>
        {formatRate(bitsPerSecond(f.throughput))}
      </td>
      <td className="num">{f.fairShare > 0 ? formatRate(bitsPerSecond(f.fairShare)) : "–"}</td>
      <td className="num">{unshaped ? "–" : `${f.window.toFixed(1)} pkt`}</td>
      <td className="num">{unshaped ? "–" : `${(f.rttSeconds * 1000).toFixed(1)} ms`}</td>
      <td className="num" title={`${f.lossEvents} loss events, ${f.timeouts} time-outs, b ${f.b.toFixed(3)}`}>
        {unshaped ? "–" : f.loss === 0 ? "0" : f.loss.toExponential(1)}
      </td>
      <td className="num">{formatBytes(f.queue)}</td>
      <td className="num">{formatCount(f.drops)}</td>
      <td>
        {unshaped ? (
          <span title="The remote PE sends no feedback: this flow is not shaped.">
            <Badge tone="bad">{phaseText(f)}</Badge>
          </span>
        ) : (
          <span className="dim">{phaseText(f)}</span>
        )}
      </td>
    </tr>
  );
}
