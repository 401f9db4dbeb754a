import type { MaintenanceHit } from "../gen/millrace/circuits/v1/circuits_pb";
import { rateOf, shortId } from "../model/circuits";
import { fateLabel, hitsText, hitText } from "../model/maintenance";
import { useNames } from "../state/hooks";
import { Badge } from "./Panel";

interface Props {
  hits: readonly MaintenanceHit[];
  omitted: number;
  onCircuit: (id: string) => void;
}

/** Circuits that have to leave links in maintenance, in the order in which they are moved, and what becomes of each. */
export function MaintenanceHits({ hits, omitted, onCircuit }: Props) {
  const { routerName } = useNames();
  return (
    <div className="answer" data-testid="hits">
      <p>{hitsText(hits, omitted)}</p>
      {hits.length > 0 && (
        <ul aria-label="Circuits that it hits">
          {hits.map((h) => (
            <li key={h.circuit} data-testid="hit" data-circuit={h.circuit}>
              <button type="button" className="link" onClick={() => onCircuit(h.circuit)}>
                {shortId(h.circuit)}
              </button>{" "}
              of {h.project}, {h.from} → {h.to}, {rateOf(h.rateBitsPerSecond)}, priority {h.priority}:{" "}
              <Badge tone={fateLabel(h.fate).tone}>{fateLabel(h.fate).text}</Badge>{" "}
              <span className="dim">{hitText(h, routerName)}</span>
            </li>
          ))}
          {omitted > 0 && <li className="dim">and {omitted} more</li>}
        </ul>
      )}
    </div>
  );
}
