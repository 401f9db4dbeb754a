import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { useMemo, useState } from "react";
import type { Blocker, LinkCalendar } from "../gen/millrace/circuits/v1/circuits_pb";
import { rateOf, windowText } from "../model/circuits";
import { type Bar, barsOf, beyond, type Cap, coverOf, hourTicks, placeOf, type TimeWindow } from "../model/strip";
import { formatShare } from "../model/units";
import { useLive, useNames, useStore } from "../state/hooks";
import { Empty, Panel } from "./Panel";
import { tickText, windowClock, zoneOffset } from "./time";

interface Props {
  link: string | undefined;
  onLink: (link: string | undefined) => void;
  /** The marked window: that of a circuit, or of the request. */
  window: { start: Timestamp | undefined; end: Timestamp | undefined } | undefined;
  /** The links that lack capacity for the request. */
  blockers: readonly Blocker[];
}

const spans: [string, number][] = [
  ["24 h", 24],
  ["7 d", 168],
];

/** How much of each link is booked, over time. */
export function CircuitCalendarPanel({ link, onLink, window: marked, blockers }: Props) {
  const { circuits } = useStore();
  const [hours, setHours] = useState(24);
  const strips = useMemo(() => circuits.strips(hours), [circuits, hours]);
  const source = useLive(strips);
  const { data } = source;
  return (
    <Panel
      title="Calendar"
      className="calendar"
      testId="calendar"
      source={source}
      aside={
        <>
          {data && data.free > 0 && <span className="dim">{data.free} link directions with nothing booked</span>}
          <fieldset className="switch">
            <legend className="hidden">How far ahead</legend>
            {spans.map(([name, value]) => (
              <button key={value} type="button" aria-pressed={hours === value} onClick={() => setHours(value)}>
                {name}
              </button>
            ))}
          </fieldset>
        </>
      }
    >
      {!data ? null : data.links.length === 0 ? (
        <Empty title={data.free > 0 ? "Nothing is booked." : "No link is known."}>
          A strip for each link direction shows how much of what circuits may use of it is booked, and when.
        </Empty>
      ) : (
        <div className="strips">
          {data.links.map((l) => (
            <Strip
              key={l.link?.link}
              calendar={l}
              window={data.window}
              selected={l.link?.link === link}
              onSelect={() => onLink(l.link?.link === link ? undefined : l.link?.link)}
              marked={marked && coverOf(marked.start, marked.end, data.window)}
              blockers={blockers.filter((b) => b.link === l.link?.link)}
            />
          ))}
          <Axis window={data.window} />
          {data.left > 0 && <p className="dim">and {data.left} with more room</p>}
        </div>
      )}
    </Panel>
  );
}

interface StripProps {
  calendar: LinkCalendar;
  window: TimeWindow;
  selected: boolean;
  onSelect: () => void;
  marked: readonly [number, number] | undefined;
  blockers: readonly Blocker[];
}

const percent = (part: number) => `${part * 100}%`;

const tooMuch: Record<Cap, string> = { soft: "above the soft cap", hard: "too much" };

function Strip({ calendar: l, window, selected, onSelect, marked, blockers }: StripProps) {
  const { linkName } = useNames();
  const name = linkName(l.link?.link ?? "");
  const least = l.leastFreeBitsPerSecond;
  const exceeded = beyond(l, least);
  const figure = exceeded ? `${rateOf(-least)} ${tooMuch[exceeded]}` : `${rateOf(least)} free`;
  return (
    <div className="strip" data-testid="strip" data-link={l.link?.link}>
      <button type="button" className="link" aria-pressed={selected} onClick={onSelect} title="List its circuits">
        {name}
      </button>
      <div className="bars" role="img" aria-label={`${name}: at least ${figure}`}>
        {marked && <span className="marked" style={{ left: percent(marked[0]), width: percent(marked[1]) }} />}
        {barsOf(l, window).map((b) => (
          <span
            key={b.from}
            className={b.beyond ? `bar beyond-${b.beyond}` : "bar"}
            style={{ left: percent(b.from), width: percent(b.width), height: percent(b.booked) }}
          />
        ))}
        {barsOf(l, window).map((b) => (
          <span
            key={b.from}
            className="touch"
            style={{ left: percent(b.from), width: percent(b.width) }}
            title={pieceText(b, l)}
          />
        ))}
        {blockers.map((b) => {
          const cover = coverOf(b.start, b.end, window);
          return (
            cover && (
              <span
                key={`${b.start?.seconds}`}
                className="blocked"
                style={{ left: percent(cover[0]), width: percent(cover[1]) }}
              />
            )
          );
        })}
      </div>
      <span
        className={exceeded === "hard" ? "num bad-text" : "num dim"}
        title={`of ${rateOf(l.reservableBitsPerSecond)}`}
      >
        min {figure}
      </span>
    </div>
  );
}

function pieceText({ piece, booked }: Bar, l: LinkCalendar): string {
  const free = piece.freeBitsPerSecond;
  const exceeded = beyond(l, free);
  const state = exceeded ? `${rateOf(-free)} ${tooMuch[exceeded]}` : `${rateOf(free)} free`;
  const room = rateOf(l.reservableBitsPerSecond);
  return `${windowText(piece.start, piece.end, windowClock)}: ${state} of ${room}, ${formatShare(booked)} booked`;
}

function Axis({ window }: { window: TimeWindow }) {
  return (
    <div className="strip axis" aria-hidden="true">
      <span />
      <div className="bars">
        {hourTicks(window, zoneOffset).map((at) => (
          <span key={at} className="tick" style={{ left: percent(placeOf(at, window)) }}>
            {tickText(at)}
          </span>
        ))}
      </div>
      <span />
    </div>
  );
}
