import { useEffect } from "react";
import type { Millis } from "../model/units";
import { useLive, useStore } from "../state/hooks";
import { VpnFairnessPanel } from "./VpnFairnessPanel";
import { VpnFlowsPanel } from "./VpnFlowsPanel";
import { VpnRatesPanel } from "./VpnRatesPanel";
import { VpnWeightsPanel } from "./VpnWeightsPanel";

interface Props {
  now: Millis;
  selected: string | undefined;
  onSelect: (vpn: string | undefined) => void;
}

/** How VPNs share the core: rates against fair share over time, and what makes them. */
export function VpnPage({ now, selected, onSelect }: Props) {
  const store = useStore();
  useLive(store.vpnFlows);
  useLive(store.vpnSeries);
  useLive(store.vpnWeights);
  useLive(store.vpnHistory);
  useEffect(() => store.selectVpn(selected), [store, selected]);
  return (
    <main className="vpns" data-testid="vpns">
      <div className="column">
        <VpnRatesPanel now={now} selected={selected} onSelect={onSelect} />
        <VpnFlowsPanel now={now} selected={selected} onSelect={onSelect} />
      </div>
      <div className="column">
        <VpnFairnessPanel now={now} />
        <VpnWeightsPanel now={now} />
      </div>
    </main>
  );
}
