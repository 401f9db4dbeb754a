import { useMemo, useState } from "react";
import type { Circuit } from "../gen/millrace/circuits/v1/circuits_pb";
import { emptyPath, type PathForm, pathFormOf, samePath, wantsOf } from "../model/circuitPath";
import { noAnswer } from "../state/circuits";
import { useLive, useSettled, useStore } from "../state/hooks";

/** How long a user must stop typing until the page asks which path the circuit would get, ms. */
const settling = 400;

/** The form that changes the path of the circuit that is open: closed until somebody opens it, and for that circuit only. */
export function useOtherPath(shown: Circuit | undefined, by: string) {
  const { circuits } = useStore();
  const [opened, setOpened] = useState<Circuit>();
  const [form, setForm] = useState<PathForm>(emptyPath);
  // Another version than the one that was read is refused, so it stays the one that the form began with.
  const circuit = opened && opened.id === shown?.id ? opened : undefined;
  const was = useMemo(() => (circuit?.terms ? pathFormOf(circuit.terms) : emptyPath), [circuit]);
  const settled = useSettled(form, settling);
  const who = useSettled(by, settling).trim();
  const resource = useMemo(() => {
    const { path, problems } = wantsOf(settled);
    const complete = who !== "" && Object.keys(problems).length === 0 && !samePath(was, settled);
    return circuit && complete ? circuits.otherPath(circuit, path, who) : noAnswer;
  }, [circuits, circuit, was, settled, who]);
  const answer = useLive(resource);
  return {
    circuit,
    was,
    form,
    onForm: setForm,
    answer,
    open: () => {
      if (!shown?.terms) return;
      setOpened(shown);
      setForm(pathFormOf(shown.terms));
    },
    onDone: () => setOpened(undefined),
  };
}
