import { type PointerEvent, useRef, useState } from "react";
import { linePath, niceMax, type Reading, readingAt, ticks } from "../model/chart";
import { staleAfter } from "../model/counters";
import { type Millis, millis } from "../model/units";
import { useTime } from "../state/hooks";
import { useSize } from "./useSize";

export interface ChartLine {
  id: string;
  label: string;
  /** Class of the line's colour. */
  tone: string;
  dashed?: boolean;
  readings: readonly Reading[];
}

interface Props {
  label: string;
  lines: readonly ChartLine[];
  /** How far back it shows, ms. */
  span: number;
  /** Top of the axis; without it a round number above all values. */
  max?: number;
  format: (v: number) => string;
  /** How times are written; without it as times of day. */
  clock?: Intl.DateTimeFormat;
  /** How far apart readings are joined, ms. */
  apart?: number | undefined;
  /** Called with the time under the pointer, undefined when it leaves. */
  onPoint?: (at: Millis | undefined) => void;
}

const margin = { left: 78, right: 10, top: 8, bottom: 20 };

const timeOfDay = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Values over the last minutes. */
export function TimeChart({ label, lines, span, max, format, clock = timeOfDay, apart, onPoint }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const now = useTime((t) => t);
  const [pointed, setPointed] = useState<Millis>();
  const plot = { width: size.width - margin.left - margin.right, height: size.height - margin.top - margin.bottom };
  const from = millis(now - span);
  const top =
    max ?? niceMax(Math.max(0, ...lines.flatMap((l) => l.readings.map((r) => (r.time >= from ? r.value : 0)))));
  const window = { from, to: now, max: top };
  const point = (at: Millis | undefined) => {
    setPointed(at);
    onPoint?.(at);
  };
  const move = (e: PointerEvent<SVGSVGElement>) => {
    const x = (e.clientX - e.currentTarget.getBoundingClientRect().left - margin.left) / plot.width;
    point(x >= 0 && x <= 1 ? millis(from + x * span) : undefined);
  };
  const x = (at: Millis) => ((at - from) / span) * plot.width;
  return (
    <div className="chart" ref={frame}>
      {plot.width > 0 && plot.height > 0 && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={label}
          onPointerMove={move}
          onPointerLeave={() => point(undefined)}
        >
          <g transform={`translate(${margin.left} ${margin.top})`}>
            {ticks(top).map((v) => (
              <g key={v} transform={`translate(0 ${plot.height * (1 - v / top)})`}>
                <line className="grid" x2={plot.width} />
                <text className="axis" x={-8} y={4}>
                  {format(v)}
                </text>
              </g>
            ))}
            <text className="axis from" y={plot.height + 15}>
              {clock.format(from)}
            </text>
            <text className="axis" x={plot.width} y={plot.height + 15}>
              {clock.format(now)}
            </text>
            {lines.map((l) => (
              <path
                key={l.id}
                className={`line ${l.tone} ${l.dashed ? "dashed" : ""}`}
                d={linePath(l.readings, window, plot, apart)}
              />
            ))}
            {pointed !== undefined && pointed >= from && (
              <g className="pointed" transform={`translate(${x(pointed)} 0)`}>
                <line y2={plot.height} />
                <text className="axis" y={plot.height + 15}>
                  {clock.format(pointed)}
                </text>
              </g>
            )}
          </g>
        </svg>
      )}
    </div>
  );
}

/** The value that a legend shows: at the pointer, else the newest, unless that is too old to be one of now. */
export function shown<T extends { time: Millis }>(
  readings: readonly T[],
  at: Millis | undefined,
  now: Millis,
): T | undefined {
  if (at !== undefined) return readingAt(readings, at);
  const newest = readings.at(-1);
  return newest && now - newest.time <= staleAfter ? newest : undefined;
}
