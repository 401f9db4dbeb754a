import { type ReactNode, useId } from "react";
import type { Tone } from "../model/changes";
import { formatAgo, type Millis, millis } from "../model/units";
import type { Known } from "../state/resource";

interface Props {
  title: string;
  className?: string;
  /** Short facts or controls at the right of the title. */
  aside?: ReactNode;
  /** What the panel's content was made from; its errors are shown above the content. */
  source?: Known<unknown>;
  now?: Millis;
  testId?: string;
  children: ReactNode;
}

export function Panel({ title, className = "", aside, source, now, testId, children }: Props) {
  const id = useId();
  return (
    <section className={`panel ${className}`} aria-labelledby={id} data-testid={testId}>
      <header>
        <h2 id={id}>{title}</h2>
        <div className="aside">{aside}</div>
      </header>
      {source?.error && (
        <p className="problem" role="status">
          Cannot load: {source.error}.{source.at && now ? ` Shown as of ${formatAgo(millis(source.at), now)}.` : ""}
        </p>
      )}
      <div className="body">{children}</div>
    </section>
  );
}

/** What to do next where there is nothing to show yet. */
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
