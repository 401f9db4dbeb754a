import { useMemo } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import { bookedRate, usageText, usageTrend } from "../model/circuitUsage";
import { millis } from "../model/units";
import { useLive, useStore, useTime } from "../state/hooks";
import { Fact } from "./Fact";
import { Sparkline } from "./Sparkline";

const minute = 60_000;

/** What a circuit sent in the last hour; the line's full height is its rate. */
export function CircuitUsage({ circuit }: { circuit: Circuit }) {
  const { circuits } = useStore();
  const source = useMemo(() => circuits.usage(circuit.id), [circuits, circuit.id]);
  const usage = useLive(source).data;
  const now = useTime((t) => millis(t - (t % minute)));
  const booked = bookedRate(circuit);
  const text = usage && usageText(usage, booked);
  if (!usage || !text) return null;
  return (
    <Fact name="Sent">
      <span data-testid="circuit-usage">
        <Sparkline trend={usageTrend(usage, booked, now)} width={120} height={14} /> {text}
      </span>
    </Fact>
  );
}
