import { Fragment, useState } from "react";
import type { Tone } from "../model/changes";
import {
  errorText,
  filtered,
  type Outcome,
  outcomes,
  paperName,
  paperOf,
  type Scoreboard,
  type ScoreExperiment,
  type ScoreRow,
  totals,
  valueText,
} from "../model/papers";
import type { Millis } from "../model/units";
import { useLive, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";

interface Filter {
  paper?: string | undefined;
  outcome?: string | undefined;
}

interface Props {
  now: Millis;
  paper: string | undefined;
  outcome: string | undefined;
  onFilter: (filter: Filter) => void;
}

const tones: Record<Outcome, Tone> = { within: "good", outside: "bad", "not measured": "neutral" };

/** Every number of the papers beside what the twin and the lab make of it. */
export function PapersPage({ now, paper, outcome, onFilter }: Props) {
  const answer = useLive(useStore().papers);
  const board = answer.data;
  const shownNow = board ? filtered(board, paper, outcome) : [];
  return (
    <main className="papers" data-testid="papers">
      <div className="column">
        <Panel
          title="The papers' numbers"
          className="totals"
          testId="papers-totals"
          source={answer}
          now={now}
          aside={board && <span className="dim">{board.source}</span>}
        >
          {board?.problems.map((p) => (
            <p key={p} className="problem" role="status">
              {p}
            </p>
          ))}
          {board && board.experiments.length > 0 && <Totals board={board} paper={paper} onFilter={onFilter} />}
        </Panel>
        <Panel
          title={paper ? `${paper} ${paperName(paper)}` : "All papers"}
          className="rows"
          testId="papers-rows"
          aside={<OutcomeSwitch outcome={outcome} onFilter={onFilter} />}
        >
          {board?.experiments.length === 0 ? (
            <Empty title="Not measured yet.">
              <code>millrace papers --page DIR</code> runs the experiments in the twin; set{" "}
              <code>dashboard.papers</code> to the folder it writes.
            </Empty>
          ) : shownNow.length === 0 && board ? (
            <Empty title="No row is like that.">Choose another paper or verdict.</Empty>
          ) : (
            <ScoreTable experiments={shownNow} />
          )}
        </Panel>
      </div>
    </main>
  );
}

function OutcomeSwitch({ outcome, onFilter }: { outcome: string | undefined; onFilter: (filter: Filter) => void }) {
  return (
    <fieldset className="switch">
      <legend className="hidden">Show rows that are</legend>
      {[undefined, ...outcomes].map((o) => (
        <button key={o ?? "all"} type="button" aria-pressed={outcome === o} onClick={() => onFilter({ outcome: o })}>
          {o ?? "all"}
        </button>
      ))}
    </fieldset>
  );
}

interface TotalsProps {
  board: Scoreboard;
  paper: string | undefined;
  onFilter: (filter: Filter) => void;
}

function Totals({ board, paper, onFilter }: TotalsProps) {
  return (
    <table>
      <thead>
        <tr>
          <th>Paper</th>
          <th className="num">Rows</th>
          {outcomes.map((o) => (
            <th key={o} className="num">
              {o}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {totals(board).map((t) => (
          <tr key={t.paper} className={t.paper === paper ? "selected" : ""} data-testid={`paper-${t.paper}`}>
            <td>
              <button
                type="button"
                className="link"
                aria-pressed={t.paper === paper}
                onClick={() => onFilter({ paper: t.paper === paper ? undefined : t.paper })}
              >
                {t.paper}
              </button>{" "}
              {paperName(t.paper)}
            </td>
            <td className="num">{t.rows}</td>
            {outcomes.map((o) => (
              <td key={o} className="num">
                {t.counts[o]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ScoreTable({ experiments }: { experiments: readonly ScoreExperiment[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>In the paper</th>
            <th>What</th>
            <th className="num">Paper</th>
            <th className="num">Twin</th>
            <th className="num">Lab</th>
            <th className="num">Error</th>
            <th className="num">Tolerance</th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {experiments.map((e) => (
            <ExperimentRows key={e.id} experiment={e} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ExperimentRows({ experiment: e }: { experiment: ScoreExperiment }) {
  const [plots, setPlots] = useState(false);
  return (
    <>
      <tr className="experiment" data-testid="experiment">
        <td colSpan={8}>
          <strong>{e.id}</strong> {e.title} <span className="dim">paper {paperOf(e.id)}</span>{" "}
          {e.figures.length > 0 && (
            <button type="button" className="link" aria-expanded={plots} onClick={() => setPlots(!plots)}>
              {plots ? "hide plots" : e.figures.length === 1 ? "1 plot" : `${e.figures.length} plots`}
            </button>
          )}
          {plots && (
            <div className="plots">
              {e.figures.map((f) => (
                <img key={f.file} src={`/papers/${f.file}`} alt={f.title} loading="lazy" />
              ))}
            </div>
          )}
        </td>
      </tr>
      {e.rows.map((r, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: keys of old results may repeat, and rows never move
        <Row key={`${r.key} ${i}`} row={r} />
      ))}
    </>
  );
}

/** A row, and on demand why its tolerance, what is wrong with the number, why it did not come out. */
function Row({ row: r }: { row: ScoreRow }) {
  const notes: [string, string][] = (
    [
      ["Tolerance", r.why],
      ["The paper", r.flag],
      [r.outcome === "within" ? "Note" : "Difference", r.note],
    ] as [string, string][]
  ).filter(([, text]) => text !== "");
  const [open, setOpen] = useState(false);
  return (
    <Fragment>
      <tr data-testid="score-row" data-outcome={r.outcome}>
        <td>{r.item}</td>
        <td>
          {notes.length > 0 ? (
            <button type="button" className="twist" aria-expanded={open} onClick={() => setOpen(!open)}>
              {r.what}
            </button>
          ) : (
            r.what
          )}
        </td>
        <td className="num">{valueText(r.paper, r.unit)}</td>
        <td className="num">{valueText(r.twin, r.unit)}</td>
        <td className="num" title={r.lab?.hint}>
          {r.lab ? valueText(r.lab.value, r.unit) : ""}
        </td>
        <td className="num">{errorText(r)}</td>
        <td className="num dim">{r.tolerance}</td>
        <td>
          <Badge tone={tones[r.outcome]}>{r.outcome}</Badge>
          {r.flag && <span className="dim"> paper contradicts itself or is silent</span>}
        </td>
      </tr>
      {open && (
        <tr className="inside" data-testid="score-why">
          <td colSpan={8}>
            {notes.map(([name, text]) => (
              <p key={name}>
                <strong>{name}:</strong> {text}
              </p>
            ))}
          </td>
        </tr>
      )}
    </Fragment>
  );
}
