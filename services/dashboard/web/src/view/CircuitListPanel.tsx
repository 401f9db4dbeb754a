import { useState } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import {
  askedText,
  circuitLabel,
  circuitStateName,
  circuitTitle,
  foundCircuits,
  shortId,
  spanOf,
  usesLink,
  windowText,
} from "../model/circuits";
import { formatCount } from "../model/units";
import { useLive, useNames, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { windowClock } from "./time";

interface Props {
  selected: string | undefined;
  link: string | undefined;
  onSelect: (part: { circuit?: string | undefined; link?: string | undefined }) => void;
}

/** Circuits that have capacity, or those that are over, newest first. */
export function CircuitListPanel({ selected, link, onSelect }: Props) {
  const { circuits } = useStore();
  const { routerName, linkName } = useNames();
  const [over, setOver] = useState(false);
  const [search, setSearch] = useState("");
  const source = useLive(over ? circuits.ended : circuits.booked);
  const all = source.data?.circuits ?? [];
  const rows = foundCircuits(all, search, routerName).filter((c) => !link || usesLink(c, link));
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
            <button type="button" aria-pressed={!over} onClick={() => setOver(false)}>
              Booked
            </button>
            <button type="button" aria-pressed={over} onClick={() => setOver(true)}>
              Over
            </button>
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
      {rows.length === 0 ? (
        <Empty title={all.length > 0 ? "No circuit matches." : over ? "No circuit is over." : "No circuits."}>
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

function Row({ circuit: c, selected, onSelect }: { circuit: Circuit; selected: boolean; onSelect: () => void }) {
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
      </td>
    </tr>
  );
}
