import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { stateLabel } from "../model/changes";
import { TimeOfDay } from "./time";

interface Step {
  name: string;
  state: "done" | "now" | "todo" | "failed";
  transition?: { time?: Timestamp };
}

/** The way from the first state to the last. */
export function Steps({ steps }: { steps: Step[] }) {
  return (
    <ol className="steps" aria-label="Progress">
      {steps.map((s) => (
        <li key={s.name} className={s.state} aria-current={s.state === "now" ? "step" : undefined}>
          <span className="name">{s.name}</span>
          <span className="dim">
            {s.transition ? <TimeOfDay at={s.transition.time} /> : s.state === "now" ? "next" : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Every transition, newest first: when, to which state, by whom and why. */
export function History({ change }: { change: ChangeSet }) {
  if (change.history.length === 0) return null;
  return (
    <details className="history">
      <summary>History ({change.history.length})</summary>
      <ol>
        {change.history.toReversed().map((t) => (
          <li key={`${t.time?.seconds}.${t.time?.nanos} ${t.state}`}>
            <TimeOfDay at={t.time} />
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
