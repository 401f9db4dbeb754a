import { useMemo, useState } from "react";
import { CircuitsService, type Proposal } from "../gen/millrace/circuits/v1/circuits_pb";
import { type CircuitForm, proposedForm, termsOf } from "../model/circuitForm";
import { rateOf, windowText } from "../model/circuits";
import { useLive, useMayOperate, useSettled, useStore } from "../state/hooks";
import { rememberOperator } from "../state/operator";
import { always, Resource } from "../state/resource";
import { CallButton } from "./CallButton";
import { fieldTime, timeOfField, windowClock } from "./time";

interface Props {
  form: CircuitForm;
  by: string;
  onForm: (form: CircuitForm) => void;
  onBooked: (id: string) => void;
}

/** How long a user must stop typing until the page looks for the project's proposals, ms. */
const settling = 400;
const shown = 3;
const none = new Resource<Proposal[]>(async () => [], always(3_600_000));

/** What the project in the form might request for huge transfers of its hosts that were seen. */
export function CircuitProposals({ form, by, onForm, onBooked }: Props) {
  const { circuits } = useStore();
  const mayOperate = useMayOperate();
  const [busy, setBusy] = useState(false);
  const project = useSettled(form.project.trim(), settling);
  const source = useMemo(() => (project === "" ? none : circuits.proposals(project)), [circuits, project]);
  const proposals = (useLive(source).data ?? []).filter((p) => p.terms);
  if (proposals.length === 0) return null;
  const book = async (next: CircuitForm) => {
    setBusy(true);
    rememberOperator(by);
    const result = await circuits.request(termsOf(next, timeOfField).terms, by.trim(), true);
    setBusy(false);
    // The form then says why not, and what would fit.
    if ("id" in result) onBooked(result.id);
    else onForm(next);
  };
  return (
    <div className="proposals" data-testid="proposals">
      <p className="dim">Transfers that were seen, and would have had a circuit:</p>
      <ul className="offers" aria-label="Proposals">
        {proposals.slice(0, shown).map((p) => {
          const next = proposedForm(p, fieldTime);
          const { terms } = p;
          if (!next || !terms) return null;
          return (
            <li key={p.pair} data-testid="proposal">
              <span>
                {terms.from} to {terms.to}, {rateOf(terms.rateBitsPerSecond)},{" "}
                {windowText(terms.start, terms.end, windowClock)}, as on {p.days} {p.days === 1 ? "day" : "days"}
              </span>
              <button type="button" className="button small" onClick={() => onForm(next)}>
                Fill in
              </button>
              {mayOperate && (
                <CallButton
                  call={CircuitsService.method.request}
                  className="button small"
                  disabled={busy || by.trim() === ""}
                  title={by.trim() === "" ? "Who requests it?" : "Book it as it is"}
                  onClick={() => book(next)}
                >
                  Book
                </CallButton>
              )}
            </li>
          );
        })}
      </ul>
      {proposals.length > shown && <p className="dim">and {proposals.length - shown} more</p>}
    </div>
  );
}
