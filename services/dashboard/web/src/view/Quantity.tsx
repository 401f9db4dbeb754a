/** The value of a field, and what happens when it changes. */
export interface Input {
  value: string;
  onChange: (e: { target: { value: string } }) => void;
}

interface QuantityProps {
  id: string;
  number: Input;
  unit: Input;
  units: readonly string[];
}

/** A number with its unit. */
export function Quantity({ id, number, unit, units }: QuantityProps) {
  return (
    <span className="quantity">
      <input id={id} inputMode="decimal" {...number} />
      <select aria-label="Unit" {...unit}>
        {units.map((u) => (
          <option key={u}>{u}</option>
        ))}
      </select>
    </span>
  );
}
