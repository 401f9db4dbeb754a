import { useState } from "react";
import type { Flow } from "../gen/millrace/vpn/v1/vpn_pb";
import { bitsPerSecond, formatRate, type Millis } from "../model/units";
import { drawn, emptyVpnSeries, flowKey, mostLines, pairText, type VpnReading, vpnSpan } from "../model/vpn";
import { useLive, useStore, useTime } from "../state/hooks";
import { LineMark } from "./ChartKey";
import { Empty, Panel } from "./Panel";
import { type ChartLine, shown, TimeChart } from "./TimeChart";

interface Props {
  selected: string | undefined;
  onSelect: (vpn: string | undefined) => void;
}

const rate = (v: number) => formatRate(bitsPerSecond(v));

export function VpnRatesPanel({ selected, onSelect }: Props) {
  const store = useStore();
  const answer = useLive(store.vpn.series);
  const series = answer.data ?? emptyVpnSeries;
  const all = useLive(store.vpn.flows).data?.flows ?? [];
  const flows = drawn(all, series, selected);
  const [at, setAt] = useState<Millis>();
  const now = useTime((t) => t);
  const readings = (f: Flow) => series.flows.get(flowKey(f)) ?? [];
  const lines = flows.flatMap((f, i) => chartLines(f, readings(f), `s${i}`));
  return (
    <Panel
      title="Rates against fair share"
      className="rates"
      testId="vpn-rates"
      source={answer}
      aside={
        selected ? (
          <button type="button" className="link" onClick={() => onSelect(undefined)}>
            only {selected}; show all
          </button>
        ) : (
          <span className="dim">
            {all.length > mostLines ? `top ${flows.length} by rate, fair share dashed` : "fair share dashed"}
          </span>
        )
      }
    >
      {lines.length === 0 ? (
        <Empty title="No VPN flow was measured in the last 5 minutes.">
          Set <code>pe: HOST:PORT</code> on the PEs in the inventory and start <code>millrace pe</code> on each.
        </Empty>
      ) : (
        <>
          <TimeChart label={describe(flows)} lines={lines} span={vpnSpan} format={rate} onPoint={setAt} />
          <ul className="keys" aria-label="VPN flows, rate of fair share">
            {flows.map((f, i) => (
              <FlowKey key={flowKey(f)} flow={f} tone={`s${i}`} reading={shown(readings(f), at, now)} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function FlowKey({ flow, tone, reading }: { flow: Flow; tone: string; reading: VpnReading | undefined }) {
  return (
    <li className={tone} title={pairText(flow)} data-testid="vpn-key">
      <LineMark tone={tone} />
      <strong>{flow.vpn}</strong> <span className="dim">{pairText(flow)}</span>{" "}
      {reading ? (
        <span className="figures">
          {rate(reading.throughput)} <span className="dim">of {rate(reading.share)}</span>
        </span>
      ) : (
        "–"
      )}
    </li>
  );
}

function chartLines(f: Flow, readings: readonly VpnReading[], tone: string): ChartLine[] {
  if (readings.length === 0) return [];
  const line = (part: "throughput" | "share") => readings.map((r) => ({ time: r.time, value: r[part] }));
  return [
    { id: `${flowKey(f)} share`, label: `fair share of ${f.vpn}`, tone, dashed: true, readings: line("share") },
    { id: flowKey(f), label: f.vpn, tone, readings: line("throughput") },
  ];
}

/** The chart in words, for screen readers. */
const describe = (flows: readonly Flow[]) =>
  `Rates of the last 5 minutes. Now: ${flows
    .map((f) => `${f.vpn} ${pairText(f)} ${rate(f.throughput)}, fair share ${rate(f.fairShare)}`)
    .join("; ")}`;
