import { type FormEvent, useState } from "react";
import { CircuitsService, type Offer } from "../gen/millrace/circuits/v1/circuits_pb";
import { batchOf, type CircuitForm, formOf, type Problems, termsOf } from "../model/circuitForm";
import { refusedField } from "../model/circuitProblems";
import type { Answer } from "../state/circuits";
import { useMayOperate, useStore } from "../state/hooks";
import { rememberOperator } from "../state/operator";
import type { Known } from "../state/resource";
import { CallButton } from "./CallButton";
import { CircuitAnswer } from "./CircuitAnswer";
import { CircuitFields } from "./CircuitFields";
import { CircuitProposals } from "./CircuitProposals";
import { Panel } from "./Panel";
import { fieldTime, timeOfField, zoneName } from "./time";

interface Props {
  form: CircuitForm;
  onForm: (form: CircuitForm) => void;
  by: string;
  onBy: (by: string) => void;
  /** Whether it would fit, as far as that is known. */
  answer: Known<Answer | undefined>;
  onBooked: (id: string) => void;
}

/** The form that requests a circuit; it shows at once whether the circuit would fit. */
export function CircuitRequestPanel({ form, onForm, by, onBy, answer, onBooked }: Props) {
  const { circuits } = useStore();
  const mayOperate = useMayOperate();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const { terms, problems } = termsOf(form, timeOfField);
  const missing = by.trim() === "" ? "Who requests it?" : Object.values(problems)[0];
  const possible = missing === undefined && !busy && !answer.data?.refusal;
  const change = (part: Partial<CircuitForm>) => {
    setFailed(undefined);
    onForm({ ...form, ...part });
  };
  const take = (offer: Offer) => {
    if (offer.terms) change(formOf(offer.terms, form, fieldTime));
  };
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const button = (e.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null;
    const commit = button?.value !== "hold";
    setBusy(true);
    rememberOperator(by);
    const result = await circuits.request(terms, by.trim(), commit, batchOf(form, zoneName()));
    setBusy(false);
    if ("id" in result) onBooked(result.id);
    else setFailed(failure(result));
  };
  return (
    <Panel
      title="Request a circuit"
      className="request"
      testId="circuit-request"
      aside={<span className="dim">times are in {zoneName()}</span>}
    >
      <form onSubmit={submit} noValidate>
        <CircuitProposals form={form} by={by} onForm={(next) => change(next)} onBooked={onBooked} />
        <CircuitFields
          form={form}
          by={by}
          problems={{ ...refusedField(answer.data?.refusal), ...touched(problems, form) }}
          onChange={change}
          onBy={onBy}
        />
        <div aria-live="polite">
          {failed && (
            <p className="problem" role="alert">
              {failed}
            </p>
          )}
          <Verdict missing={missing} answer={answer} onTake={take} />
        </div>
        {mayOperate ? (
          <Buttons
            possible={possible}
            busy={busy}
            displaces={(answer.data?.wouldDisplace.length ?? 0) > 0}
            operator={form.aboveSoftCap}
          />
        ) : (
          <p className="dim">A request needs the role operator.</p>
        )}
      </form>
    </Panel>
  );
}

interface ButtonsProps {
  possible: boolean;
  busy: boolean;
  displaces: boolean;
  /** An operator of circuits has to commit it. */
  operator: boolean;
}

function Buttons({ possible, busy, displaces, operator }: ButtonsProps) {
  return (
    <div className="actions">
      <CallButton
        call={CircuitsService.method.request}
        type="submit"
        value="hold"
        className={operator ? "button primary" : "button"}
        disabled={!possible || displaces}
        title="A hold displaces no other circuit"
      >
        Hold
      </CallButton>
      <CallButton
        call={CircuitsService.method.request}
        type="submit"
        value="book"
        className={operator ? "button" : "button primary"}
        disabled={!possible}
      >
        {busy ? "Working…" : operator ? "Book as operator" : "Book"}
      </CallButton>
    </div>
  );
}

/** Why there is no circuit, or that it is unknown whether there is one. */
function failure({ unknown, error, refusal }: Answer): string {
  const why = error ?? refusal?.reason ?? "refused";
  return unknown
    ? `Not known whether it is booked: ${why}. Send it again as it is: that never makes a second one.`
    : `Not booked: ${why}`;
}

interface VerdictProps {
  /** The fields that are still missing. */
  missing: string | undefined;
  answer: Known<Answer | undefined>;
  onTake: (offer: Offer) => void;
}

function Verdict({ missing, answer: { data, error }, onTake }: VerdictProps) {
  if (missing) return <p className="answer dim">{missing}</p>;
  if (error) return <p className="answer bad-text">Not known whether it fits: {error}.</p>;
  return data ? <CircuitAnswer answer={data} onTake={onTake} /> : <p className="answer dim">Asking…</p>;
}

/** What is wrong with a field, except for fields that are not filled in yet. */
const touched = (problems: Problems, form: CircuitForm): Problems =>
  Object.fromEntries(Object.entries(problems).filter(([field]) => form[field as keyof CircuitForm] !== ""));
