import { type ReactNode, useId } from "react";
import type { Tone } from "../model/changes";
import { millis } from "../model/units";
import type { Known } from "../state/resource";
import { AgoMillis } from "./time";

interface Props {
  title: string;
  className?: string;
  /** Short facts or controls at the right of the title. */
  aside?: ReactNode;
  /** Where the panel's content comes from; its errors are shown above the content. */
  source?: Known<unknown>;
  testId?: string;
  children: ReactNode;
}

export function Panel({ title, className = "", aside, source, testId, children }: Props) {
  const id = useId();
  return (
    <section className={`panel ${className}`} aria-labelledby={id} data-testid={testId}>
      <header>
        <h2 id={id}>{title}</h2>
        <div className="aside">{aside}</div>
      </header>
      {source?.error && (
        <p className="problem" role="status">
          Cannot load: {source.error}.
          {source.at !== undefined && (
            <>
              {" "}
              Last loaded <AgoMillis at={millis(source.at)} />.
            </>
          )}
        </p>
      )}
      <div className="body">{children}</div>
    </section>
  );
}

/** Says that a part of a panel comes from elsewhere, and cannot be loaded: what is shown of it is old, or nothing. */
export function NotKnown({ what, source: { error, at } }: { what: string; source: Known<unknown> }) {
  if (!error) return null;
  return (
    <p className="problem" role="status">
      Not known {what}: {error}.
      {at !== undefined && (
        <>
          {" "}
          Last loaded <AgoMillis at={millis(at)} />.
        </>
      )}
    </p>
  );
}

/** Stands where there is nothing to show yet, with the next step. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <p>{title}</p>
      <p>{children}</p>
    </div>
  );
}

export function Badge({ tone, children, testId }: { tone: Tone; children: ReactNode; testId?: string }) {
  return (
    <span className={`badge ${tone}`} data-testid={testId}>
      {children}
    </span>
  );
}
