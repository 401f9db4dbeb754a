import { useState } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import {
  askedText,
  circuitLabel,
  circuitStateName,
  circuitTitle,
  foundCircuits,
  keptOff,
  keptOffText,
  shortId,
  spanOf,
  usesLink,
  windowText,
} from "../model/circuits";
import type { TimeWindow } from "../model/strip";
import { circuitsIn, concern, nightCounts, nightFrom } from "../model/tonight";
import { formatCount } from "../model/units";
import { useLive, useNames, useStore, useTime } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { momentText, windowClock } from "./time";

interface Props {
  selected: string | undefined;
  link: string | undefined;
  onSelect: (part: { circuit?: string | undefined; link?: string | undefined }) => void;
}

/** Circuits that have capacity, or those that are over, newest first. */
export function CircuitListPanel({ selected, link, onSelect }: Props) {
  const { circuits } = useStore();
  const { routerName, linkName } = useNames();
  const [shown, setShown] = useState<Shown>("Booked");
  const night = useTime(minuteOf);
  const [search, setSearch] = useState("");
  const over = shown === "Over";
  const source = useLive(over ? circuits.ended : circuits.booked);
  const all = source.data?.circuits ?? [];
  const found = foundCircuits(all, search, routerName).filter((c) => !link || usesLink(c, link));
  const window = nightFrom(night);
  const rows = shown === "Tonight" ? circuitsIn(found, window) : found;
  return (
    <Panel
      title="Circuits"
      className="circuit-list"
      testId="circuits"
      source={source}
      aside={
        <>
          <span className="dim">
            {source.data?.more ? `newest ${formatCount(all.length)}` : formatCount(rows.length)}
          </span>
          <fieldset className="switch">
            <legend className="hidden">Show circuits</legend>
            {views.map((view) => (
              <button key={view} type="button" aria-pressed={shown === view} onClick={() => setShown(view)}>
                {view}
              </button>
            ))}
          </fieldset>
          <input
            type="search"
            aria-label="Search circuits"
            placeholder="name, router or state"
            value={search}
            onChange={(e) => setSearch(e.target.value)}
          />
        </>
      }
    >
      {link && (
        <p className="filter">
          only those over {linkName(link)};{" "}
          <button type="button" className="link" onClick={() => onSelect({ link: undefined })}>
            show all
          </button>
        </p>
      )}
      {shown === "Tonight" && <Night rows={rows} window={window} />}
      {rows.length === 0 ? (
        <Empty title={emptyTitle(shown, found.length > 0, all.length > 0)}>
          A circuit is capacity from one router to another in a window of time. Ask for one on the right.
        </Empty>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>Circuit</th>
                <th>From → to</th>
                <th className="num">Rate or volume</th>
                <th>Window</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((c) => (
                <Row
                  key={c.id}
                  circuit={c}
                  selected={c.id === selected}
                  concern={shown === "Tonight" ? concern(c) : keptOff(c) ? keptOffText : undefined}
                  onSelect={() => onSelect({ circuit: c.id === selected ? undefined : c.id })}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

const views = ["Booked", "Tonight", "Over"] as const;
type Shown = (typeof views)[number];

/** The minute of now: what is shown changes no more often. */
const minuteOf = (now: number) => Math.floor(now / 60_000) * 60_000;

function emptyTitle(shown: Shown, found: boolean, any: boolean): string {
  if (shown === "Tonight" && found) return "No circuit has anything tonight.";
  if (any) return "No circuit matches.";
  return shown === "Over" ? "No circuit is over." : "No circuits.";
}

/** How many begin, end and are to be looked at. */
function Night({ rows, window }: { rows: readonly Circuit[]; window: TimeWindow }) {
  const { begin, end, concerns } = nightCounts(rows, window);
  return (
    <p className="filter" data-testid="night">
      until {momentText(window.to)}: {formatCount(rows.length)} circuits, {formatCount(begin)} begin, {formatCount(end)}{" "}
      end{concerns > 0 && <span className="bad-text">, {formatCount(concerns)} to look at</span>}
    </p>
  );
}

interface RowProps {
  circuit: Circuit;
  selected: boolean;
  /** Why an operator should look at it. */
  concern: string | undefined;
  onSelect: () => void;
}

function Row({ circuit: c, selected, concern, onSelect }: RowProps) {
  const label = circuitLabel(c.state);
  const title = circuitTitle(c);
  return (
    <tr
      className={selected ? "selected" : ""}
      data-testid="circuit"
      data-circuit={c.id}
      data-state={circuitStateName(c.state)}
    >
      <td className="what" title={`${title}\n${c.id}`}>
        <button type="button" className="link" aria-pressed={selected} onClick={onSelect}>
          {title}
        </button>
        <span className="dim">
          {c.terms?.project} · {shortId(c.id)}
        </span>
      </td>
      <td>
        {c.terms?.from} → {c.terms?.to}
      </td>
      <td className="num">{askedText(c.terms)}</td>
      <td>{windowText(...spanOf(c.slots), windowClock)}</td>
      <td>
        <Badge tone={label.tone}>{label.text}</Badge>
        {concern && concern !== label.text && <span className="bad-text"> {concern}</span>}
      </td>
    </tr>
  );
}
