import { Fragment, useState } from "react";
import type { Evidence, Pair } from "../gen/millrace/alpha/v1/alpha_pb";
import { samplingText } from "../model/exporters";
import { evidenceOf, overThreshold, protocolText, strongest, tagsOf } from "../model/pairs";
import { nameOfAddress } from "../model/topology";
import { formatBytes, formatCount, formatShare, formatSpan, formatUntil, millis, share } from "../model/units";
import { useResource, useStore, useTime } from "../state/hooks";
import { CaughtChart } from "./CaughtChart";
import { Empty, Panel } from "./Panel";
import { Ago, TimeOfDay } from "./time";

interface Props {
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
}

/** The pairs that nightly runs know, or what those known before caught of the days since. */
export function PairsPanel({ selected, onSelect }: Props) {
  const { network } = useStore();
  const pairs = useResource(network.pairs);
  const judged = useResource(network.effectiveness);
  const [plot, setPlot] = useState(false);
  const list = pairs.data ?? [];
  const open = plot || list.some((p) => p.id === selected);
  return (
    <Panel
      title="Alpha pairs"
      className={open ? "pairs open" : "pairs"}
      testId="pairs"
      source={plot ? judged : pairs}
      aside={
        <>
          <span className="dim">{list.length} in force</span>
          <fieldset className="switch">
            <legend className="hidden">Show</legend>
            {[false, true].map((v) => (
              <button key={String(v)} type="button" aria-pressed={plot === v} onClick={() => setPlot(v)}>
                {v ? "Caught" : "List"}
              </button>
            ))}
          </fieldset>
        </>
      }
    >
      {plot ? (
        <CaughtChart days={judged.data?.days ?? []} />
      ) : list.length === 0 ? (
        <Empty title="No alpha pairs yet.">
          <code>millrace alpha nightly</code> detects them in the stored flows.
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Source → destination</th>
              <th>Ingress</th>
              <th className="num">Peak interval</th>
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

function PairRow({ pair, open, onToggle }: { pair: Pair; open: boolean; onToggle: () => void }) {
  const { topology } = useStore().network;
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
          <Ago at={pair.lastAlpha} />
        </td>
        <td className="num">
          <AgesOut pair={pair} />
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

function AgesOut({ pair }: { pair: Pair }) {
  const end = pair.agesOut ? Number(pair.agesOut.seconds) * 1000 : undefined;
  const text = useTime((now) => (end === undefined ? "–" : formatUntil(millis(end), now)));
  return <span className={end === undefined ? "dim" : ""}>{text}</span>;
}

function EvidenceTable({ pair }: { pair: Pair }) {
  const seconds = pair.evidence[0]?.interval?.seconds;
  const length = seconds ? formatSpan(Number(seconds) * 1000) : "";
  return (
    <div className="evidence" data-testid="evidence">
      <p className="dim">
        {pair.id} · first seen <TimeOfDay at={pair.firstSeen} />, any flow last seen <TimeOfDay at={pair.lastSeen} />,
        ages out <TimeOfDay at={pair.agesOut} />
      </p>
      {pair.tags.length > 0 && (
        <p data-testid="whose">
          Whose flows:{" "}
          {tagsOf(pair)
            .map((t) => `${t.name} ${formatShare(t.share)}`)
            .join(", ")}{" "}
          <span className="dim">of {formatBytes(pair.sentBytes)}</span>
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th>Interval{length && ` (${length})`}</th>
            <th>Flow</th>
            <th className="num">Bytes</th>
            <th className="num">Threshold H</th>
            <th className="num">Sampling</th>
          </tr>
        </thead>
        <tbody>
          {evidenceOf(pair).map((e) => (
            <tr key={`${e.intervalStart?.seconds} ${flowText(e)}`}>
              <td>
                <TimeOfDay at={e.intervalStart} />
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
