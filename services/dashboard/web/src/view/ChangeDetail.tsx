import { useRef, useState } from "react";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { type Action, actionsOf, headsFirst, outcome, type Step, stateLabel, stateName, steps } from "../model/changes";
import { ConfirmDialog } from "./ConfirmDialog";
import { DeviceDetail } from "./DeviceDetail";
import { Clock } from "./time";

interface Props {
  change: ChangeSet;
  onPair: (id: string) => void;
  onClose: () => void;
}

export const actionTitles: Record<Action, string> = {
  approve: "Approve and apply",
  apply: "Apply",
  rollback: "Roll back",
};

export function ChangeDetail({ change, onPair, onClose }: Props) {
  const [asking, setAsking] = useState<Action>();
  const [problem, setProblem] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
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
            {change.id} · asked by {change.author || "unknown"} · policy {change.policy || "none"}
          </p>
        </div>
        <div className="actions">
          {actionsOf(change.state).map((a) => (
            <button
              key={a}
              type="button"
              className={a === "rollback" ? "button danger" : "button primary"}
              onClick={() => setAsking(a)}
            >
              {actionTitles[a]}
            </button>
          ))}
          <button type="button" className="button quiet" aria-label="Close change set" onClick={onClose}>
            ×
          </button>
        </div>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Course steps={steps(change)} />
      {outcome(change).map((line) => (
        <p key={line} className="problem" role="alert">
          {line}
        </p>
      ))}
      {change.reason && <p className="reason">{change.reason}</p>}
      {change.pairs.length > 0 && (
        <p className="pair-links">
          <span className="dim">Pairs </span>
          {change.pairs.map((id) => (
            <button key={id} type="button" className="link" onClick={() => onPair(id)}>
              {id}
            </button>
          ))}
        </p>
      )}
      {change.notes.length > 0 && (
        <ul className="notes" aria-label="Notes for the approver">
          {change.notes.map((n) => (
            <li key={n}>{n}</li>
          ))}
        </ul>
      )}
      {headsFirst(change.devices).map((d, i) => (
        <DeviceDetail key={d.device} device={d} open={i === 0} />
      ))}
      <History change={change} />
      {asking && (
        <ConfirmDialog
          action={asking}
          change={change}
          onDone={(error) => {
            setProblem(error && `${actionTitles[asking]} did not happen: ${error}`);
            setAsking(undefined);
            heading.current?.focus({ preventScroll: true });
          }}
        />
      )}
    </article>
  );
}

function Course({ steps }: { steps: Step[] }) {
  return (
    <ol className="course" aria-label="Progress">
      {steps.map((s) => (
        <li key={s.name} className={s.state} aria-current={s.state === "now" ? "step" : undefined}>
          <span className="name">{s.name}</span>
          <span className="dim">
            {s.transition ? <Clock at={s.transition.time} /> : s.state === "now" ? "next" : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}

function History({ change }: { change: ChangeSet }) {
  if (change.history.length === 0) return null;
  return (
    <details className="history">
      <summary>History ({change.history.length})</summary>
      <ol>
        {change.history.toReversed().map((t) => (
          <li key={`${t.time?.seconds}.${t.time?.nanos} ${t.state}`}>
            <Clock at={t.time} />
            <span>{stateLabel(t.state).text}</span>
            <span className="dim">
              {t.by && `by ${t.by}`}
              {t.note && `: ${t.note}`}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}
