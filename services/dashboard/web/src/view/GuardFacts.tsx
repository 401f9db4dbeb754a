import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { canaryOf } from "../model/canary";
import { stateRow } from "../model/changes";
import { approvalRefusal, freezeOf, frozenText, missingApprovals, ruleText, sizeText, waitsFor } from "../model/guards";
import { useResource, useStore } from "../state/hooks";
import { operatorName } from "../state/operator";
import { CanaryFacts } from "./CanaryFacts";
import { Fact } from "./Fact";
import { TimeOfDay } from "./time";

/** What keeps the change set from being sent, or watches it: who must approve, the budget, the window, a freeze, the canary. */
export function GuardFacts({ change }: { change: ChangeSet }) {
  const freezes = useResource(useStore().changes.freezes).data ?? [];
  const settled = stateRow(change.state)?.progress === "settled";
  const canary = canaryOf(change);
  const waits = waitsFor(change);
  const frozen = freezeOf(freezes, change);
  const because = change.approvalRule?.because ?? [];
  return (
    <>
      {(!settled || change.approvals.length > 0) && change.approvalRule && (
        <Fact name="Approval">
          <Approvals change={change} />
        </Fact>
      )}
      {because.length > 0 && (
        <Fact name="Budget">
          <ul aria-label="Why it takes a person">
            {because.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Fact>
      )}
      {change.nightly && because.length === 0 && !settled && (
        <Fact name="Budget">{sizeText(change) ?? "not known"}: within that of its nightly run</Fact>
      )}
      {waits && <Fact name="Waits">{waits}</Fact>}
      {frozen && (
        <Fact name="Frozen">
          <ul aria-label="What is frozen">
            <li>
              {frozenText(frozen)} by {frozen.by}: {frozen.reason}; nothing is sent until that ends
            </li>
          </ul>
        </Fact>
      )}
      {canary && (
        <Fact name="Canary">
          <CanaryFacts canary={canary} />
        </Fact>
      )}
    </>
  );
}

/** The rule, who has approved, and why the person at this browser may not. */
function Approvals({ change }: { change: ChangeSet }) {
  const missing = missingApprovals(change);
  const refusal = missing > 0 ? approvalRefusal(change, operatorName()) : undefined;
  return (
    <div data-testid="approvals" data-missing={missing}>
      <p>
        {ruleText(change)}
        {missing > 0 && change.approvals.length > 0 && (
          <>
            ; <strong>{missing} more needed</strong>
          </>
        )}
      </p>
      {change.approvals.map((a) => (
        <p key={`${a.by} ${a.time?.seconds}`}>
          <span className="good-text">✓</span> {a.by} <TimeOfDay at={a.time} />
          {a.note && <span className="dim">: {a.note}</span>}
        </p>
      ))}
      {refusal && <p className="bad-text">You cannot: {refusal}</p>}
    </div>
  );
}
