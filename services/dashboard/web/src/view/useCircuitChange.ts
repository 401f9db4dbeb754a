import { useMemo, useState } from "react";
import type { Circuit, Terms } from "../gen/millrace/circuits/v1/circuits_pb";
import { emptyPath, type PathForm, pathFormOf, samePath, wantsOf } from "../model/circuitPath";
import { emptySize, type SizeForm, sizeChange, sizeFormOf } from "../model/circuitSize";
import { type CircuitChange, noAnswer } from "../state/circuits";
import { useLive, useSettled, useStore } from "../state/hooks";
import { fieldTime, timeOfField } from "./time";

/** How long a user must stop typing until the page asks what the circuit would be, ms. */
const settling = 400;

/** A form that changes a circuit. */
interface Kind<F> {
  empty: F;
  formOf: (terms: Terms) => F;
  /** What is to change, nothing where the form says what is; and the fields that are wrong. */
  changeOf: (form: F, was: F) => { change: CircuitChange | undefined; problems: Partial<Record<keyof F, string>> };
}

export const pathKind: Kind<PathForm> = {
  empty: emptyPath,
  formOf: pathFormOf,
  changeOf: (form, was) => {
    const { path, problems } = wantsOf(form);
    return { change: samePath(was, form) ? undefined : { path }, problems };
  },
};

export const sizeKind: Kind<SizeForm> = {
  empty: emptySize,
  formOf: (terms) => sizeFormOf(terms, fieldTime),
  changeOf: (form, was) => {
    const { change, problems } = sizeChange(form, was, timeOfField);
    return { change: Object.keys(change).length > 0 ? change : undefined, problems };
  },
};

/** A form that changes the circuit that is open: closed until somebody opens it, and for that circuit only. */
export function useCircuitChange<F>(kind: Kind<F>, shown: Circuit | undefined, by: string) {
  const { circuits } = useStore();
  const [opened, setOpened] = useState<Circuit>();
  const [form, setForm] = useState<F>(kind.empty);
  // Another version than the one that was read is refused, so it stays the one that the form began with.
  const circuit = opened && opened.id === shown?.id ? opened : undefined;
  const was = useMemo(() => (circuit?.terms ? kind.formOf(circuit.terms) : kind.empty), [kind, circuit]);
  const settled = useSettled(form, settling);
  const who = useSettled(by, settling).trim();
  const resource = useMemo(() => {
    const { change, problems } = kind.changeOf(settled, was);
    const complete = who !== "" && Object.keys(problems).length === 0;
    return circuit && complete && change && settled === form ? circuits.wouldBe(circuit, change, who) : noAnswer;
  }, [kind, circuits, circuit, was, form, settled, who]);
  return {
    circuit,
    form,
    onForm: (part: Partial<F>) => setForm({ ...form, ...part }),
    ...kind.changeOf(form, was),
    answer: useLive(resource),
    open: () => {
      if (!shown?.terms) return;
      setOpened(shown);
      setForm(kind.formOf(shown.terms));
    },
    onDone: () => setOpened(undefined),
  };
}
