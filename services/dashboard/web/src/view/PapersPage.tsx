import { filtered, outcomes, paperName } from "../model/papers";
import { useLive, useStore } from "../state/hooks";
import { Empty, Panel } from "./Panel";
import { type OnFilter, PaperTotals } from "./PaperTotals";
import { ScoreTable } from "./ScoreTable";

interface Props {
  paper: string | undefined;
  outcome: string | undefined;
  onFilter: OnFilter;
}

/** Every number of the papers beside the results of the twin and of the lab. */
export function PapersPage({ paper, outcome, onFilter }: Props) {
  const scoreboard = useLive(useStore().papers);
  const board = scoreboard.data;
  const experiments = board ? filtered(board, paper, outcome) : [];
  return (
    <main className="papers" data-testid="papers">
      <div className="column">
        <Panel
          title="The papers' numbers"
          className="totals"
          testId="papers-totals"
          source={scoreboard}
          aside={board && <span className="dim">{board.source}</span>}
        >
          {board?.problems.map((p) => (
            <p key={p} className="problem" role="status">
              {p}
            </p>
          ))}
          {board && board.experiments.length > 0 && <PaperTotals board={board} paper={paper} onFilter={onFilter} />}
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
          ) : experiments.length === 0 && board ? (
            <Empty title="No row matches.">Choose another paper or verdict.</Empty>
          ) : (
            <ScoreTable experiments={experiments} />
          )}
        </Panel>
      </div>
    </main>
  );
}

function OutcomeSwitch({ outcome, onFilter }: { outcome: string | undefined; onFilter: OnFilter }) {
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
