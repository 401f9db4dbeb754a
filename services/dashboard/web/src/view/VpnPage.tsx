import { useEffect } from "react";
import { useStore } from "../state/hooks";
import { VpnFairnessPanel } from "./VpnFairnessPanel";
import { VpnFlowsPanel } from "./VpnFlowsPanel";
import { VpnRatesPanel } from "./VpnRatesPanel";
import { VpnWeightsPanel } from "./VpnWeightsPanel";

interface Props {
  selected: string | undefined;
  onSelect: (vpn: string | undefined) => void;
}

/** How VPNs share the core: rates against fair share, fairness, flows and weights. */
export function VpnPage({ selected, onSelect }: Props) {
  const { vpn } = useStore();
  useEffect(() => vpn.select(selected), [vpn, selected]);
  return (
    <main className="vpns" data-testid="vpns">
      <div className="column">
        <VpnRatesPanel selected={selected} onSelect={onSelect} />
        <VpnFlowsPanel selected={selected} onSelect={onSelect} />
      </div>
      <div className="column">
        <VpnFairnessPanel />
        <VpnWeightsPanel />
      </div>
    </main>
  );
}
