import { outcomes, paperName, type Scoreboard, totals } from "../model/papers";

/** Selects rows; a part left out stays as it is. */
export type OnFilter = (filter: { paper?: string | undefined; outcome?: string | undefined }) => void;

interface Props {
  board: Scoreboard;
  paper: string | undefined;
  onFilter: OnFilter;
}

/** Rows per paper and outcome; a click on a paper shows its rows alone. */
export function PaperTotals({ board, paper, onFilter }: Props) {
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
