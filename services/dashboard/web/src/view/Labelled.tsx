import { type ReactNode, useId } from "react";

interface LabelledProps {
  name: string;
  hint?: string;
  problem?: string | undefined;
  wide?: boolean;
  children: (id: string) => ReactNode;
}

/** A field of a form with its name, and what is wrong with it. */
export function Labelled({ name, hint, problem, wide, children }: LabelledProps) {
  const id = useId();
  return (
    <div className={wide ? "field wide" : "field"}>
      <label htmlFor={id}>
        {name}
        {hint && <span className="dim"> ({hint})</span>}
      </label>
      {children(id)}
      {problem && (
        <span className="bad-text" role="status">
          {problem}
        </span>
      )}
    </div>
  );
}
