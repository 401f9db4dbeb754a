import { useRef, useState } from "react";
import type { Drift } from "../gen/millrace/push/v1/drift_pb";
import { ChangeService, type ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { type Action, actionsOf, stateName, undoes } from "../model/changes";
import { titleOf } from "../model/guards";
import { headsFirst } from "../model/plan";
import { failures, steps } from "../model/steps";
import { CallButton } from "./CallButton";
import { ChangeFacts } from "./ChangeFacts";
import { History, Steps } from "./ChangeSteps";
import { ConfirmDialog } from "./ConfirmDialog";
import { DeviceDetail } from "./DeviceDetail";
import { DriftFacts } from "./DriftFacts";
import { PredictionTable } from "./PredictionTable";

interface Props {
  change: ChangeSet;
  drifts: readonly Drift[];
  onPair: (id: string) => void;
  onClose: () => void;
}

/** One change set: how far it is, why it exists, what it changes, and how it is rolled back. */
export function ChangeDetail({ change, drifts, onPair, onClose }: Props) {
  const [asking, setAsking] = useState<Action>();
  const [problem, setProblem] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  const done = (action: Action, error: string | undefined) => {
    setProblem(error && `${titleOf(change, action)} failed: ${error}`);
    setAsking(undefined);
    heading.current?.focus({ preventScroll: true });
  };
  return (
    <article
      className="change-detail"
      data-testid="change-detail"
      data-change={change.id}
      data-state={stateName(change.state)}
    >
      <div className="change-head">
        <div>
          <h3 ref={heading} tabIndex={-1}>
            {change.title || change.id}
          </h3>
          <p className="dim">
            {change.id} · requested by {change.author || "unknown"} · policy {change.policy || "none"}
          </p>
        </div>
        <Actions change={change} onAction={setAsking} onClose={onClose} />
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Steps steps={steps(change)} />
      {failures(change).map((line) => (
        <p key={line} className="problem" role="alert">
          {line}
        </p>
      ))}
      <ChangeFacts change={change} onPair={onPair} />
      <DriftFacts drifts={drifts} />
      {headsFirst(change.devices).map((d, i) => (
        <DeviceDetail key={d.device} device={d} open={i === 0} />
      ))}
      <PredictionTable prediction={change.prediction} />
      <History change={change} />
      {asking && <ConfirmDialog action={asking} change={change} onDone={(error) => done(asking, error)} />}
    </article>
  );
}

interface ActionsProps {
  change: ChangeSet;
  onAction: (action: Action) => void;
  onClose: () => void;
}

function Actions({ change, onAction, onClose }: ActionsProps) {
  return (
    <div className="actions">
      {actionsOf(change.state).map((action) => (
        <CallButton
          key={action}
          call={ChangeService.method[action]}
          className={undoes(action) ? "button danger" : "button primary"}
          onClick={() => onAction(action)}
        >
          {titleOf(change, action)}
        </CallButton>
      ))}
      <button type="button" className="button quiet" aria-label="Close change set" onClick={onClose}>
        ×
      </button>
    </div>
  );
}
