import { rateUnits } from "../model/circuitForm";
import type { SizeForm, SizeProblems } from "../model/circuitSize";
import { Labelled } from "./Labelled";
import { Quantity } from "./Quantity";

interface Props {
  form: SizeForm;
  problems: SizeProblems;
  onChange: (part: Partial<SizeForm>) => void;
  /** It has no rate. */
  scavenger: boolean;
}

/** Rate and end of a circuit. */
export function CircuitSizeFields({ form, problems, onChange, scavenger }: Props) {
  const text = (field: keyof SizeForm) => ({
    value: form[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
  });
  return (
    <div className="fields">
      {!scavenger && (
        <Labelled name="Rate" problem={problems.rate}>
          {(id) => <Quantity id={id} number={text("rate")} unit={text("rateUnit")} units={rateUnits} />}
        </Labelled>
      )}
      <Labelled name="End" hint="empty: open" problem={problems.end}>
        {(id) => <input id={id} type="datetime-local" {...text("end")} />}
      </Labelled>
    </div>
  );
}
