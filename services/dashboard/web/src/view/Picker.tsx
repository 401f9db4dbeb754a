interface Props {
  id: string;
  /** Ids that may be chosen. */
  options: readonly string[];
  nameOf: (id: string) => string;
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

/** Chooses several of a list; what is chosen stays, also where the list does not have it any more. */
export function Picker({ id, options, nameOf, chosen, onChange }: Props) {
  const others = options
    .filter((o) => !chosen.includes(o))
    .map((o) => ({ id: o, name: nameOf(o) }))
    .sort((a, b) => a.name.localeCompare(b.name));
  return (
    <div className="picker">
      <select id={id} value="" onChange={(e) => onChange([...chosen, e.target.value])}>
        <option value="">{chosen.length === 0 ? "none" : "and …"}</option>
        {others.map((o) => (
          <option key={o.id} value={o.id}>
            {o.name}
          </option>
        ))}
      </select>
      {chosen.map((c) => (
        <button
          key={c}
          type="button"
          className="chosen"
          title={c}
          aria-label={`Not ${nameOf(c)}`}
          onClick={() => onChange(chosen.filter((o) => o !== c))}
        >
          {nameOf(c)} ×
        </button>
      ))}
    </div>
  );
}
