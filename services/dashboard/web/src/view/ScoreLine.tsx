import { Fragment, useState } from "react";
import type { Tone } from "../model/changes";
import { errorText, type Outcome, type ScoreRow, valueText } from "../model/papers";
import { Badge } from "./Panel";

const tones: Record<Outcome, Tone> = { within: "good", outside: "bad", "not measured": "neutral" };

/** A row; opened, also the rationale of its tolerance, a caveat on the paper's number, and the explanation of a discrepancy. */
export function ScoreLine({ row: r }: { row: ScoreRow }) {
  const notes: [string, string][] = (
    [
      ["Tolerance", r.rationale],
      ["Caveat", r.caveat],
      [r.outcome === "within" ? "Note" : "Discrepancy", r.explanation],
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
          {r.caveat && <span className="dim"> paper unclear</span>}
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
