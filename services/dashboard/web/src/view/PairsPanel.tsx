import { Fragment } from "react";
import type { Evidence, Pair } from "../gen/millrace/alpha/v1/alpha_pb";
import { evidenceOf, overThreshold, protocolText, strongest } from "../model/pairs";
import { samplingText } from "../model/quality";
import { nameOfAddress } from "../model/topology";
import { formatBytes, formatCount, formatShare, formatSpan, type Millis, share } from "../model/units";
import { useResource, useStore } from "../state/hooks";
import { Empty, Panel } from "./Panel";
import { Ago, Clock } from "./time";

interface Props {
  now: Millis;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
}

export function PairsPanel({ now, selected, onSelect }: Props) {
  const store = useStore();
  const pairs = useResource(store.pairs);
  const list = pairs.data ?? [];
  const open = list.some((p) => p.id === selected);
  return (
    <Panel
      title="Alpha pairs"
      className={open ? "pairs open" : "pairs"}
      testId="pairs"
      source={pairs}
      now={now}
      aside={<span className="dim">{list.length} in force</span>}
    >
      {list.length === 0 ? (
        <Empty title="No alpha pairs yet.">
          <code>millrace alpha nightly</code> finds them in the stored flows.
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Source → destination</th>
              <th>Ingress</th>
              <th className="num">Most in one interval</th>
              <th className="num">Flows</th>
              <th className="num">Last alpha</th>
              <th className="num">Ages out</th>
            </tr>
          </thead>
          <tbody>
            {list.map((p) => (
              <PairRow
                key={p.id}
                pair={p}
                now={now}
                open={p.id === selected}
                onToggle={() => onSelect(p.id === selected ? undefined : p.id)}
              />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function PairRow({ pair, now, open, onToggle }: { pair: Pair; now: Millis; open: boolean; onToggle: () => void }) {
  const { topology } = useStore();
  const snapshot = useResource(topology).data;
  const top = strongest(pair);
  const times = top && overThreshold(top);
  return (
    <Fragment>
      <tr className={open ? "selected" : ""} data-testid="pair">
        <td>
          <button type="button" className="twist" aria-expanded={open} onClick={onToggle}>
            {pair.src} → {pair.dst}
          </button>
        </td>
        <td title={pair.exporter}>{nameOfAddress(snapshot, pair.exporter)}</td>
        <td className="num">
          {top ? formatBytes(top.bytes) : "–"}
          {times !== undefined && <span className="dim"> {times.toFixed(times < 10 ? 1 : 0)}× H</span>}
        </td>
        <td className="num">{pair.evidence.length}</td>
        <td className="num">
          <Ago at={pair.lastAlpha} now={now} />
        </td>
        <td className="num">
          <AgesOut pair={pair} now={now} />
        </td>
      </tr>
      {open && (
        <tr className="inside">
          <td colSpan={6}>
            <EvidenceTable pair={pair} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}

function AgesOut({ pair, now }: { pair: Pair; now: Millis }) {
  if (!pair.agesOut) return <span className="dim">–</span>;
  const left = Number(pair.agesOut.seconds) * 1000 - now;
  return <span>{left > 0 ? `in ${formatSpan(left).replace(/^(\d+ \w+) .*/, "$1")}` : "now"}</span>;
}

function EvidenceTable({ pair }: { pair: Pair }) {
  const seconds = pair.evidence[0]?.interval?.seconds;
  const length = seconds ? formatSpan(Number(seconds) * 1000) : "";
  return (
    <div className="evidence" data-testid="evidence">
      <p className="dim">
        {pair.id} · first seen <Clock at={pair.firstSeen} />, any flow last seen <Clock at={pair.lastSeen} />, ages out{" "}
        <Clock at={pair.agesOut} />
      </p>
      <table>
        <thead>
          <tr>
            <th>Interval{length && ` (${length})`}</th>
            <th>Flow</th>
            <th className="num">Bytes</th>
            <th className="num">over H</th>
            <th className="num">Sampling</th>
          </tr>
        </thead>
        <tbody>
          {evidenceOf(pair).map((e) => (
            <tr key={`${e.intervalStart?.seconds} ${flowText(e)}`}>
              <td>
                <Clock at={e.intervalStart} />
              </td>
              <td>{flowText(e)}</td>
              <td className="num" title={`${formatCount(e.bytes)} bytes in ${formatCount(e.packets)} packets`}>
                {formatBytes(e.bytes)}
                {e.samplingError > 0 && <span className="dim"> ± {formatShare(share(e.samplingError), 1)}</span>}
              </td>
              <td className="num">{formatBytes(e.minBytes)}</td>
              <td className="num">{samplingText(e.samplingRate)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const flowText = (e: Evidence) => `${e.srcAddr}:${e.srcPort} → ${e.dstAddr}:${e.dstPort} ${protocolText(e.protocol)}`;
