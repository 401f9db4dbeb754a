import type { Diff, LineKind } from "../model/diff";

const signs: Record<LineKind, string> = { add: "+", del: "−", context: " " };

/** A diff to read: one block per configuration path. */
export function DiffView({ diff }: { diff: Diff }) {
  if (diff.sections.length === 0) return <p className="dim no-diff">The router holds this already.</p>;
  return (
    <div className="diff" data-testid="diff">
      {diff.sections.map((s, i) => (
        // Sections of one diff never move, so their place names them.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <section key={i}>
          {s.title && <h4>{s.title}</h4>}
          <pre>
            {s.lines.map((l, j) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: see above
              <span key={j} className={l.kind}>
                <span className="sign">{signs[l.kind]}</span>
                <span className="line">{l.text || " "}</span>
              </span>
            ))}
          </pre>
        </section>
      ))}
    </div>
  );
}
