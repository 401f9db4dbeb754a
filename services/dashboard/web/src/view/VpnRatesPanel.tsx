import { useState } from "react";
import type { Flow } from "../gen/millrace/vpn/v1/vpn_pb";
import { bitsPerSecond, formatRate, type Millis } from "../model/units";
import { drawn, emptyVpnBook, flowKey, mostLines, pairText, type VpnReading, vpnSpan } from "../model/vpn";
import { useResource, useStore } from "../state/hooks";
import { Empty, Panel } from "./Panel";
import { type ChartLine, shown, TimeChart } from "./TimeChart";

interface Props {
  now: Millis;
  selected: string | undefined;
  onSelect: (vpn: string | undefined) => void;
}

const rate = (v: number) => formatRate(bitsPerSecond(v));

export function VpnRatesPanel({ now, selected, onSelect }: Props) {
  const store = useStore();
  const series = useResource(store.vpnSeries);
  const book = series.data ?? emptyVpnBook;
  const all = useResource(store.vpnFlows).data?.flows ?? [];
  const flows = drawn(all, book, selected);
  const [at, setAt] = useState<Millis>();
  const readings = (f: Flow) => book.flows.get(flowKey(f)) ?? [];
  const lines = flows.flatMap((f, i) => chartLines(f, readings(f), `s${i}`));
  return (
    <Panel
      title="Rates against fair share"
      className="rates"
      testId="vpn-rates"
      source={series}
      now={now}
      aside={
        selected ? (
          <button type="button" className="link" onClick={() => onSelect(undefined)}>
            only {selected}; show all
          </button>
        ) : (
          <span className="dim">
            {all.length > mostLines ? `the ${flows.length} that send most` : "fair share dashed"}
          </span>
        )
      }
    >
      {lines.length === 0 ? (
        <Empty title="No VPN flow was measured in the last 5 minutes.">
          Give the devices of the inventory that are PEs <code>pe: HOST:PORT</code>, and start <code>millrace pe</code>{" "}
          on them.
        </Empty>
      ) : (
        <>
          <TimeChart label={describe(flows)} lines={lines} now={now} span={vpnSpan} format={rate} onPoint={setAt} />
          <ul className="keys" aria-label="VPN flows, rate of fair share">
            {flows.map((f, i) => (
              <FlowKey key={flowKey(f)} flow={f} tone={`s${i}`} reading={shown(readings(f), at)} />
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
      <svg width="18" height="8" aria-hidden="true">
        <line className={`line ${tone}`} x1="1" x2="17" y1="4" y2="4" />
      </svg>
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

/** For those who do not see the chart. */
const describe = (flows: readonly Flow[]) =>
  `Rates of the last 5 minutes. Now: ${flows
    .map((f) => `${f.vpn} ${pairText(f)} ${rate(f.throughput)}, fair share ${rate(f.fairShare)}`)
    .join("; ")}`;
