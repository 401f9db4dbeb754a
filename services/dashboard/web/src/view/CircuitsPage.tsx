import { useMemo, useState } from "react";
import { batchOf, type CircuitForm, emptyForm, termsOf } from "../model/circuitForm";
import { type Answer, noAnswer, noCircuit } from "../state/circuits";
import { useLive, useSettled, useStore } from "../state/hooks";
import { operatorName } from "../state/operator";
import { CircuitCalendarPanel } from "./CircuitCalendarPanel";
import { CircuitPathPanel, CircuitSizePanel } from "./CircuitChangePanel";
import { CircuitListPanel } from "./CircuitListPanel";
import { CircuitMapPanel } from "./CircuitMapPanel";
import { CircuitPanel } from "./CircuitPanel";
import { CircuitRequestPanel } from "./CircuitRequestPanel";
import { MaintenanceListPanel } from "./MaintenanceListPanel";
import { MaintenancePanel } from "./MaintenancePanel";
import { MaintenancePlanPanel } from "./MaintenancePlanPanel";
import { timeOfField, zoneName } from "./time";
import { pathKind, sizeKind, useCircuitChange } from "./useCircuitChange";

interface Props {
  /** The circuit that is open, or the maintenance; without both, the form that requests a circuit. */
  circuit: string | undefined;
  maintenance: string | undefined;
  /** Only circuits of this link are listed. */
  link: string | undefined;
  onSelect: (part: {
    circuit?: string | undefined;
    link?: string | undefined;
    maintenance?: string | undefined;
  }) => void;
}

/** How long a user must stop typing until the page checks whether the request would fit, ms. */
const settling = 400;

/** Circuits, the free capacity of links and their maintenance; beside them one of these, or the form that requests a circuit. */
export function CircuitsPage({ circuit: id, maintenance, link, onSelect }: Props) {
  const { circuits } = useStore();
  const [form, setForm] = useState<CircuitForm>(emptyForm);
  const [by, setBy] = useState(operatorName);
  const [planning, setPlanning] = useState(false);
  const one = useMemo(() => (id ? circuits.one(id) : noCircuit), [circuits, id]);
  const found = useLive(one);
  const shown = id ? found.data : undefined;
  const path = useCircuitChange(pathKind, shown, by);
  const size = useCircuitChange(sizeKind, shown, by);
  const change = path.circuit ? path : size;
  const requesting = id === undefined && maintenance === undefined && !planning;
  const request = useLive(useQuote(form, by, requesting));
  const answer = change.circuit ? change.answer : request;
  const asked = requesting || change.circuit ? answer.data : undefined;
  const select = (part: { circuit?: string | undefined; maintenance?: string | undefined }) => {
    setPlanning(false);
    path.onDone();
    size.onDone();
    onSelect({ circuit: undefined, maintenance: undefined, ...part });
  };
  return (
    <main className={id || maintenance || planning ? "circuits reading" : "circuits"}>
      <div className="column">
        <CircuitListPanel
          selected={id}
          link={link}
          onSelect={(part) => ("circuit" in part ? select(part) : onSelect(part))}
        />
        <CircuitCalendarPanel
          link={link}
          onLink={(next) => onSelect({ link: next })}
          window={windowShown(shown?.slots, asked)}
          blockers={asked?.refusal?.blockers ?? []}
        />
        <MaintenanceListPanel
          selected={maintenance}
          onSelect={(next) => select({ maintenance: next })}
          onPlan={() => {
            select({});
            setPlanning(true);
          }}
        />
      </div>
      <div className="column">
        <CircuitMapPanel
          path={asked && asked.path.length > 0 ? asked.path : (shown?.path ?? [])}
          backup={asked && asked.path.length > 0 ? asked.backup : (shown?.backup ?? [])}
          circuit={asked && asked.path.length > 0 ? undefined : shown}
        />
        {path.circuit ? (
          <CircuitPathPanel {...path} circuit={path.circuit} by={by} onBy={setBy} />
        ) : size.circuit ? (
          <CircuitSizePanel {...size} circuit={size.circuit} by={by} onBy={setBy} />
        ) : id ? (
          <CircuitPanel
            key={id}
            id={id}
            source={found}
            onClose={() => select({})}
            onPath={path.open}
            onSize={size.open}
          />
        ) : maintenance ? (
          <MaintenancePanel
            key={maintenance}
            id={maintenance}
            onClose={() => select({})}
            onCircuit={(circuit) => select({ circuit })}
          />
        ) : planning ? (
          <MaintenancePlanPanel
            onDone={(done) => select({ maintenance: done })}
            onCircuit={(circuit) => select({ circuit })}
          />
        ) : (
          <CircuitRequestPanel
            form={form}
            onForm={setForm}
            by={by}
            onBy={setBy}
            answer={request}
            onBooked={(circuit) => select({ circuit })}
          />
        )}
      </div>
    </main>
  );
}

/** Checks whether the request in the form would fit, once it is complete and the user has stopped typing. */
function useQuote(form: CircuitForm, by: string, open: boolean) {
  const { circuits } = useStore();
  const settled = useSettled(form, settling);
  const who = useSettled(by, settling).trim();
  return useMemo(() => {
    const { terms, problems } = termsOf(settled, timeOfField);
    return open && who !== "" && Object.keys(problems).length === 0
      ? circuits.quote(terms, who, batchOf(settled, zoneName()))
      : noAnswer;
  }, [circuits, settled, who, open]);
}

type Slots = Answer["slots"];

/** The window that the calendar marks: that of the answer or of the circuit, else that of the request. */
function windowShown(booked: Slots | undefined, answer: Answer | undefined) {
  const of = answer?.slots.length ? answer.slots : booked;
  if (of?.length) return { start: of[0]?.start, end: of.at(-1)?.end };
  return answer ? { start: answer.terms.start, end: answer.terms.end } : undefined;
}
