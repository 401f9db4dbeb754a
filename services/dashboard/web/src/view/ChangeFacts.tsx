import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { diffSizes, rollbackText } from "../model/changes";
import { DiffCounts } from "./DiffCounts";
import { Fact } from "./Fact";
import { GuardFacts } from "./GuardFacts";

interface Props {
  change: ChangeSet;
  onPair: (id: string) => void;
}

/** The facts for an operator's decision: why, what, and how it is rolled back. */
export function ChangeFacts({ change, onPair }: Props) {
  const rollback = rollbackText(change.state);
  const sizes = diffSizes(change);
  return (
    <dl className="facts" data-testid="change-facts">
      {change.reason && <Fact name="Reason">{change.reason}</Fact>}
      {change.pairs.length > 0 && (
        <Fact name="Pairs">
          {change.pairs.map((id) => (
            <button key={id} type="button" className="link" onClick={() => onPair(id)}>
              {id}
            </button>
          ))}
        </Fact>
      )}
      {sizes.length > 0 && (
        <Fact name="Diff">
          {sizes.map((s) => (
            <span key={s.device} className="size">
              {s.device} <DiffCounts added={s.added} removed={s.removed} />
            </span>
          ))}
        </Fact>
      )}
      <GuardFacts change={change} />
      {rollback && <Fact name="Rollback">{rollback}</Fact>}
      {change.notes.length > 0 && (
        <Fact name="Notes">
          <ul aria-label="Notes for the approver">
            {change.notes.map((n) => (
              <li key={n}>{n}</li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  );
}
