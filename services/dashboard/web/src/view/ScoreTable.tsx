import { useState } from "react";
import { paperOf, type ScoreExperiment } from "../model/papers";
import { ScoreLine } from "./ScoreLine";

/** Every row of the experiments, with paper, twin and lab side by side. */
export function ScoreTable({ experiments }: { experiments: readonly ScoreExperiment[] }) {
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
        <ScoreLine key={`${r.key} ${i}`} row={r} />
      ))}
    </>
  );
}
