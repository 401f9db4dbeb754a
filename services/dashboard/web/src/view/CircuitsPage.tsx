import { useMemo, useState } from "react";
import { type CircuitForm, emptyForm, repeatOf, termsOf } from "../model/circuitForm";
import { type Answer, noAnswer, noCircuit } from "../state/circuits";
import { useLive, useSettled, useStore } from "../state/hooks";
import { operatorName } from "../state/operator";
import { CircuitCalendarPanel } from "./CircuitCalendarPanel";
import { CircuitListPanel } from "./CircuitListPanel";
import { CircuitMapPanel } from "./CircuitMapPanel";
import { CircuitPanel } from "./CircuitPanel";
import { CircuitRequestPanel } from "./CircuitRequestPanel";
import { timeOfField, zoneName } from "./time";

interface Props {
  /** The circuit that is open; without one, the form that requests another. */
  circuit: string | undefined;
  /** Only circuits of this link are listed. */
  link: string | undefined;
  onSelect: (part: { circuit?: string | undefined; link?: string | undefined }) => void;
}

/** How long a user must stop typing until the page checks whether the request would fit, ms. */
const settling = 400;

/** Circuits and the free capacity of links; beside them one circuit, or the form that requests another one. */
export function CircuitsPage({ circuit: id, link, onSelect }: Props) {
  const { circuits } = useStore();
  const [form, setForm] = useState<CircuitForm>(emptyForm);
  const [by, setBy] = useState(operatorName);
  const one = useMemo(() => (id ? circuits.one(id) : noCircuit), [circuits, id]);
  const found = useLive(one);
  const answer = useLive(useQuote(form, by, id === undefined));
  const shown = id ? found.data : undefined;
  return (
    <main className={id ? "circuits reading" : "circuits"}>
      <div className="column">
        <CircuitListPanel selected={id} link={link} onSelect={onSelect} />
        <CircuitCalendarPanel
          link={link}
          onLink={(next) => onSelect({ link: next })}
          window={windowShown(shown?.slots, answer.data)}
          blockers={id ? [] : (answer.data?.refusal?.blockers ?? [])}
        />
      </div>
      <div className="column">
        <CircuitMapPanel
          path={id ? (shown?.path ?? []) : (answer.data?.path ?? [])}
          backup={id ? (shown?.backup ?? []) : (answer.data?.backup ?? [])}
          circuit={shown}
        />
        {id ? (
          <CircuitPanel key={id} id={id} source={found} onClose={() => onSelect({ circuit: undefined })} />
        ) : (
          <CircuitRequestPanel
            form={form}
            onForm={setForm}
            by={by}
            onBy={setBy}
            answer={answer}
            onBooked={(circuit) => onSelect({ circuit })}
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
      ? circuits.quote(terms, who, repeatOf(settled, zoneName()))
      : noAnswer;
  }, [circuits, settled, who, open]);
}

type Slots = Answer["slots"];

/** The window that the calendar marks: that of the circuit, else that of the request. */
function windowShown(slots: Slots | undefined, answer: Answer | undefined) {
  const of = slots?.length ? slots : answer?.slots;
  if (of?.length) return { start: of[0]?.start, end: of.at(-1)?.end };
  return answer ? { start: answer.terms.start, end: answer.terms.end } : undefined;
}
