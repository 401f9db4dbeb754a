import { useState } from "react";
import type { Millis } from "../model/units";
import { emptyVpnSeries, vpnSpan } from "../model/vpn";
import { useLive, useStore, useTime } from "../state/hooks";
import { ChartKey } from "./ChartKey";
import { Empty, Panel } from "./Panel";
import { shown, TimeChart } from "./TimeChart";

export function VpnFairnessPanel() {
  const store = useStore();
  const series = useLive(store.vpn.series);
  const { fairness } = series.data ?? emptyVpnSeries;
  const [at, setAt] = useState<Millis>();
  const now = useTime((t) => t);
  const here = shown(fairness, at, now);
  const line = (part: "fairness" | "jain") => fairness.map((r) => ({ time: r.time, value: r[part] }));
  return (
    <Panel
      title="Fairness"
      className="fairness"
      testId="vpn-fairness"
      source={series}
      aside={here && <span className="dim">{here.active} active flows</span>}
    >
      {fairness.length === 0 ? (
        <Empty title="No VPN flows to compare yet.">
          1: all flows have their fair share. 1/N: one of N flows has all.
        </Empty>
      ) : (
        <>
          <TimeChart
            label={`F and Jain's index of the last 5 minutes. ${here ? `Now F ${here.fairness.toFixed(3)}, Jain ${here.jain.toFixed(3)}` : "What they are now is not known"}`}
            lines={[
              { id: "jain", label: "Jain", tone: "s1", readings: line("jain") },
              { id: "F", label: "F", tone: "s0", readings: line("fairness") },
            ]}
            span={vpnSpan}
            max={1}
            format={(v) => v.toFixed(1)}
            onPoint={setAt}
          />
          <ul className="keys">
            <ChartKey
              tone="s0"
              name="F"
              value={here?.fairness.toFixed(3)}
              what="weighted: throughput / fair share"
              testId="vpn-F"
            />
            <ChartKey tone="s1" name="Jain" value={here?.jain.toFixed(3)} what="unweighted" testId="vpn-Jain" />
          </ul>
        </>
      )}
    </Panel>
  );
}
