import { type FormEvent, useState } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import { type PathForm, samePath, wantsOf } from "../model/circuitPath";
import { refusedField } from "../model/circuitProblems";
import { circuitTitle, pathText } from "../model/circuits";
import type { Answer } from "../state/circuits";
import { useNames, useStore } from "../state/hooks";
import { rememberOperator } from "../state/operator";
import type { Known } from "../state/resource";
import { CircuitAnswer } from "./CircuitAnswer";
import { CircuitPathFields } from "./CircuitPathFields";
import { Labelled } from "./Labelled";
import { Panel } from "./Panel";

interface Props {
  /** As it was read when the form was opened: a change of another state of it is refused. */
  circuit: Circuit;
  /** What the circuit wants now, and what it is to want. */
  was: PathForm;
  form: PathForm;
  onForm: (form: PathForm) => void;
  by: string;
  onBy: (by: string) => void;
  /** The path that it would get, as far as that is known. */
  answer: Known<Answer | undefined>;
  onDone: () => void;
}

/** The form that changes what is wanted of a circuit's path; it shows at once which path the circuit would get. */
export function CircuitPathPanel({ circuit, was, form, onForm, by, onBy, answer, onDone }: Props) {
  const { circuits } = useStore();
  const { routerName } = useNames();
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const { path, problems } = wantsOf(form);
  const missing = by.trim() === "" ? "Who changes it?" : samePath(was, form) ? "Nothing is changed." : undefined;
  const wrong = Object.values(problems)[0];
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    rememberOperator(by);
    const failure = await circuits.changePath(circuit, path, { by: by.trim(), note: note.trim() });
    setBusy(false);
    if (failure) setFailed(failure);
    else onDone();
  };
  return (
    <Panel title={`Change the path: ${circuitTitle(circuit)}`} className="request" testId="circuit-path">
      <form onSubmit={submit} noValidate>
        <p className="dim">
          It is on {pathText(circuit.path, routerName)}. What is said here replaces all that it wants of its path. An
          active circuit stays active: it has both paths until routers have the other one.
        </p>
        <CircuitPathFields
          form={form}
          problems={{ ...refusedField(answer.data?.refusal), ...problems }}
          onChange={(part) => {
            setFailed(undefined);
            onForm({ ...form, ...part });
          }}
          own={circuit.id}
        />
        <div className="fields">
          <Labelled name="Your name">
            {(id) => (
              <input id={id} autoComplete="username" maxLength={60} value={by} onChange={(e) => onBy(e.target.value)} />
            )}
          </Labelled>
          <Labelled name="Note" hint="kept in the timeline">
            {(id) => <input id={id} maxLength={400} value={note} onChange={(e) => setNote(e.target.value)} />}
          </Labelled>
        </div>
        <div aria-live="polite">
          {failed && (
            <p className="problem" role="alert">
              Not changed: {failed}
            </p>
          )}
          <Verdict missing={wrong ?? missing} answer={answer} />
        </div>
        <div className="actions">
          <button type="button" className="button quiet" onClick={onDone}>
            Cancel
          </button>
          <button
            type="submit"
            className="button primary"
            disabled={busy || (wrong ?? missing) !== undefined || answer.data?.refusal !== undefined}
          >
            {busy ? "Working…" : "Change path"}
          </button>
        </div>
      </form>
    </Panel>
  );
}

function Verdict({ missing, answer: { data, error } }: { missing: string | undefined; answer: Props["answer"] }) {
  if (missing) return <p className="answer dim">{missing}</p>;
  if (error) return <p className="answer bad-text">Not known which path it would get: {error}.</p>;
  if (!data) return <p className="answer dim">Asking…</p>;
  return <CircuitAnswer answer={data} />;
}
