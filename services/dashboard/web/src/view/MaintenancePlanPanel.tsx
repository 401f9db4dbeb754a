import { type FormEvent, useMemo, useState } from "react";
import { emptyMaintenance, type MaintenanceForm, type MaintenanceProblems, maintenanceOf } from "../model/maintenance";
import { useLive, useSettled, useStore } from "../state/hooks";
import { noPlan, type PlanAnswer } from "../state/maintenance";
import { operatorName, rememberOperator } from "../state/operator";
import type { Known } from "../state/resource";
import { MaintenanceFields } from "./MaintenanceFields";
import { MaintenanceHits } from "./MaintenanceHits";
import { Panel } from "./Panel";
import { timeOfField, zoneName } from "./time";

interface Props {
  onDone: (id?: string) => void;
  onCircuit: (id: string) => void;
}

/** How long a user must stop typing until the page asks which circuits would be hit, ms. */
const settling = 400;

/** The form that plans maintenance; it shows at once which circuits would have to leave, and where they would go. */
export function MaintenancePlanPanel({ onDone, onCircuit }: Props) {
  const { maintenance } = useStore();
  const [form, setForm] = useState<MaintenanceForm>(emptyMaintenance);
  const [by, setBy] = useState(operatorName);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const answer = useLive(useAnswer(form, by));
  const { plan, problems } = maintenanceOf(form, timeOfField);
  const missing = by.trim() === "" ? "Who plans it?" : Object.values(problems)[0];
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    rememberOperator(by);
    const failure = await maintenance.plan(plan, by.trim());
    setBusy(false);
    if (failure) setFailed(failure);
    else onDone(form.id.trim());
  };
  return (
    <Panel
      title="Plan maintenance"
      className="request"
      testId="maintenance-plan"
      aside={<span className="dim">times are in {zoneName()}</span>}
    >
      <form onSubmit={submit} noValidate>
        <MaintenanceFields
          form={form}
          by={by}
          problems={touched(problems, form)}
          onChange={(part) => {
            setFailed(undefined);
            setForm({ ...form, ...part });
          }}
          onBy={setBy}
        />
        <div aria-live="polite">
          {failed && (
            <p className="problem" role="alert">
              Not planned: {failed}
            </p>
          )}
          <Verdict missing={missing} answer={answer} onCircuit={onCircuit} />
        </div>
        <div className="actions">
          <button type="button" className="button quiet" onClick={() => onDone()}>
            Cancel
          </button>
          <button
            type="submit"
            className="button primary"
            disabled={busy || missing !== undefined || answer.data?.refusal !== undefined}
          >
            {busy ? "Working…" : "Plan it"}
          </button>
        </div>
      </form>
    </Panel>
  );
}

/** Asks which circuits would be hit, once the form is complete and the user has stopped typing. */
function useAnswer(form: MaintenanceForm, by: string) {
  const { maintenance } = useStore();
  const settled = useSettled(form, settling);
  const who = useSettled(by, settling).trim();
  return useMemo(() => {
    const { plan, problems } = maintenanceOf(settled, timeOfField);
    return who !== "" && Object.keys(problems).length === 0 ? maintenance.ask(plan, who) : noPlan;
  }, [maintenance, settled, who]);
}

interface VerdictProps {
  missing: string | undefined;
  answer: Known<PlanAnswer | undefined>;
  onCircuit: (id: string) => void;
}

function Verdict({ missing, answer: { data, error }, onCircuit }: VerdictProps) {
  if (missing) return <p className="answer dim">{missing}</p>;
  if (error) return <p className="answer bad-text">Not known what it would hit: {error}.</p>;
  if (!data) return <p className="answer dim">Asking…</p>;
  if (data.refusal)
    return (
      <p className="answer bad-text" data-testid="plan-refused" data-code={data.refusal.code}>
        {data.refusal.reason}
      </p>
    );
  return <MaintenanceHits hits={data.hits ?? []} omitted={data.omitted ?? 0} onCircuit={onCircuit} />;
}

/** What is wrong with a field, except for fields that are not filled in yet. */
const touched = (problems: MaintenanceProblems, form: MaintenanceForm): MaintenanceProblems =>
  Object.fromEntries(Object.entries(problems).filter(([field]) => form[field as keyof MaintenanceForm].length > 0));
