import { type FormEvent, type ReactNode, useState } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import type { PathForm } from "../model/circuitPath";
import { refusedField } from "../model/circuitProblems";
import type { SizeForm } from "../model/circuitSize";
import { circuitTitle, pathText } from "../model/circuits";
import type { Answer, CircuitChange } from "../state/circuits";
import { useNames, useStore } from "../state/hooks";
import { rememberOperator } from "../state/operator";
import type { Known } from "../state/resource";
import { CircuitAnswer } from "./CircuitAnswer";
import { CircuitPathFields } from "./CircuitPathFields";
import { CircuitSizeFields } from "./CircuitSizeFields";
import { Labelled } from "./Labelled";
import { Panel } from "./Panel";
import { YourName } from "./YourName";

/** What both forms need. */
interface Props<F> {
  /** As it was read when the form was opened: a change of another state of it is refused. */
  circuit: Circuit;
  form: F;
  onForm: (part: Partial<F>) => void;
  /** What is to change; nothing where the form says what is. */
  change: CircuitChange | undefined;
  problems: Partial<Record<keyof F, string>>;
  by: string;
  onBy: (by: string) => void;
  /** What it would be, as far as that is known. */
  answer: Known<Answer | undefined>;
  onDone: () => void;
}

/** The form that changes what is wanted of a circuit's path; it shows at once which path the circuit would get. */
export function CircuitPathPanel(props: Props<PathForm>) {
  const { circuit, form, onForm, problems, answer } = props;
  const { routerName } = useNames();
  return (
    <ChangePanel {...props} what="path" testId="circuit-path">
      <p className="dim">
        It is on {pathText(circuit.path, routerName)}. What is said here replaces all that it wants of its path. An
        active circuit stays active: it has both paths until routers have the other one.
      </p>
      <CircuitPathFields
        form={form}
        problems={{ ...refusedField(answer.data?.refusal), ...problems }}
        onChange={onForm}
        own={circuit.id}
      />
    </ChangePanel>
  );
}

/** The form that changes rate and end of a circuit; it shows at once whether there is room. */
export function CircuitSizePanel(props: Props<SizeForm>) {
  const { circuit, form, onForm, problems, answer } = props;
  return (
    <ChangePanel {...props} what="rate and end" testId="circuit-size">
      <p className="dim">
        From now on, or from its start. One that has begun keeps its path; an active one has one of the two changed
        after the other.
      </p>
      <CircuitSizeFields
        form={form}
        problems={{ ...refusedField(answer.data?.refusal), ...problems }}
        onChange={onForm}
        scavenger={circuit.terms?.scavenger ?? false}
      />
    </ChangePanel>
  );
}

interface ChangeProps<F> extends Props<F> {
  what: string;
  testId: string;
  children: ReactNode;
}

function ChangePanel<F>({
  circuit,
  form,
  change,
  problems,
  by,
  onBy,
  answer,
  onDone,
  what,
  testId,
  children,
}: ChangeProps<F>) {
  const { circuits } = useStore();
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  // An error is of the form that was sent: it is gone when something of that is changed.
  const [failed, setFailed] = useState<{ form: F; why: string }>();
  const wrong = Object.values<string | undefined>(problems)[0];
  const missing = wrong ?? (by.trim() === "" ? "Who changes it?" : change ? undefined : "Nothing is changed.");
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    if (!change) return;
    setBusy(true);
    setFailed(undefined);
    rememberOperator(by);
    const failure = await circuits.modify(circuit, change, { by: by.trim(), note: note.trim() });
    setBusy(false);
    if (failure) setFailed({ form, why: failure });
    else onDone();
  };
  return (
    <Panel title={`Change ${what}: ${circuitTitle(circuit)}`} className="request" testId={testId}>
      <form onSubmit={submit} noValidate>
        {children}
        <div className="fields">
          <YourName by={by} onBy={onBy} />
          <Labelled name="Note" hint="kept in the timeline">
            {(id) => <input id={id} maxLength={400} value={note} onChange={(e) => setNote(e.target.value)} />}
          </Labelled>
        </div>
        <div aria-live="polite">
          {failed?.form === form && (
            <p className="problem" role="alert">
              Not changed: {failed.why}
            </p>
          )}
          <Verdict missing={missing} answer={answer} />
        </div>
        <div className="actions">
          <button type="button" className="button quiet" onClick={onDone}>
            Cancel
          </button>
          <button
            type="submit"
            className="button primary"
            disabled={busy || missing !== undefined || answer.data?.refusal !== undefined}
          >
            {busy ? "Working…" : `Change ${what}`}
          </button>
        </div>
      </form>
    </Panel>
  );
}

function Verdict({
  missing,
  answer: { data, error },
}: {
  missing: string | undefined;
  answer: Known<Answer | undefined>;
}) {
  if (missing) return <p className="answer dim">{missing}</p>;
  if (error) return <p className="answer bad-text">Not known whether it fits: {error}.</p>;
  if (!data) return <p className="answer dim">Asking…</p>;
  return <CircuitAnswer answer={data} />;
}
