import { useState } from "react";
import type { EffectivenessDay } from "../gen/millrace/alpha/v1/alpha_pb";
import { readingAt } from "../model/chart";
import { caughtInAll, caughtOver, spanOver } from "../model/effectiveness";
import { formatBytes, formatShare, type Millis } from "../model/units";
import { useTime } from "../state/hooks";
import { ChartKey } from "./ChartKey";
import { Empty } from "./Panel";
import { TimeChart } from "./TimeChart";

const date = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short", year: "numeric", timeZone: "UTC" });

/** Days without alpha bytes, and the days of a month, are within the line, ms. */
const apart = 32 * 24 * 3_600_000;

/** What share of alpha bytes the pairs known before caught, over time. */
export function CaughtChart({ days }: { days: readonly EffectivenessDay[] }) {
  const now = useTime((t) => t);
  const [at, setAt] = useState<Millis>();
  const caught = caughtOver(days);
  if (caught.length === 0)
    return (
      <Empty title="No day with alpha bytes was judged yet.">The nightly run judges the days that are over.</Empty>
    );
  const all = caughtInAll(days);
  const here = (at !== undefined && readingAt(caught, at, apart)) || all;
  const line = (part: "under24" | "under32") => caught.map((c) => ({ time: c.time, value: c[part] }));
  return (
    <>
      <TimeChart
        label={`Share of alpha bytes that pairs known before caught: ${formatShare(all.under24)} under /24, ${formatShare(all.under32)} under /32`}
        lines={[
          { id: "32", label: "/32", tone: "s1", readings: line("under32") },
          { id: "24", label: "/24", tone: "s0", readings: line("under24") },
        ]}
        span={spanOver(caught, now)}
        max={1}
        format={(v) => `${Math.round(v * 100)} %`}
        clock={date}
        apart={apart}
        onPoint={setAt}
      />
      <ul className="keys">
        <ChartKey
          tone="s0"
          name="/24"
          value={formatShare(here.under24)}
          what="caught by pairs of networks"
          testId="caught-24"
        />
        <ChartKey tone="s1" name="/32" value={formatShare(here.under32)} what="by pairs of hosts" testId="caught-32" />
        <li className="dim">
          of {formatBytes(here.bytes)} alpha{" "}
          {here === all ? `in ${days.length} days` : `from ${date.format(here.time)}`}
        </li>
      </ul>
    </>
  );
}
