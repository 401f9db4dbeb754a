import { useMemo } from "react";
import type { Circuit, UsageResponse } from "../gen/millrace/circuits/v1/circuits_pb";
import { bookedRate, usageText, usageTrend, type Way } from "../model/circuitUsage";
import { millis } from "../model/units";
import { useLive, useStore, useTime } from "../state/hooks";
import { Fact } from "./Fact";
import { Sparkline } from "./Sparkline";

const minute = 60_000;

/** What a circuit sent in the last hour, between ports both ways; a line's full height is the rate. */
export function CircuitUsage({ circuit }: { circuit: Circuit }) {
  const { circuits } = useStore();
  const source = useMemo(() => circuits.usage(circuit.id), [circuits, circuit.id]);
  const usage = useLive(source).data;
  if (!usage) return null;
  return (
    <>
      <Sent usage={usage} booked={bookedRate(circuit)} way="forth" />
      {usage.betweenPorts && <Sent usage={usage} booked={bookedRate(circuit)} way="back" />}
    </>
  );
}

const names: Record<Way, string> = { forth: "Sent", back: "Sent back" };

function Sent({ usage, booked, way }: { usage: UsageResponse; booked: number; way: Way }) {
  const now = useTime((t) => millis(t - (t % minute)));
  const text = usageText(usage, booked, now, way);
  if (!text) return null;
  return (
    <Fact name={names[way]}>
      <span data-testid={way === "forth" ? "circuit-usage" : "circuit-usage-back"}>
        <Sparkline trend={usageTrend(usage, booked, now, way)} width={120} height={14} /> {text}
      </span>
    </Fact>
  );
}
