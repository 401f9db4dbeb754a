import { useState } from "react";
import { type Diff, type DiffSection, type LineKind, openAtFirst, splitTitle } from "../model/diff";

const signs: Record<LineKind, string> = { add: "+", del: "−", context: " " };

/** A diff to read: one block per configuration path, the long ones folded at first. */
export function DiffView({ diff }: { diff: Diff }) {
  const [folds, setFolds] = useState(() => openAtFirst(diff.sections));
  if (diff.sections.length === 0) return <p className="dim no-diff">The router holds this already.</p>;
  const all = folds.every((open) => open);
  return (
    <div className="diff" data-testid="diff">
      <p className="diff-head">
        <span className="dim">
          {diff.sections.length} {diff.sections.length === 1 ? "entry" : "entries"} of configuration
        </span>
        <button type="button" className="link" onClick={() => setFolds(folds.map(() => !all))}>
          {all ? "Fold all" : "Unfold all"}
        </button>
      </p>
      {diff.sections.map((s, i) => (
        <Section
          // biome-ignore lint/suspicious/noArrayIndexKey: sections of one diff never move, so their place names them
          key={i}
          section={s}
          open={folds[i] ?? true}
          onToggle={(open) => setFolds((f) => (f[i] === open ? f : f.with(i, open)))}
        />
      ))}
    </div>
  );
}

interface SectionProps {
  section: DiffSection;
  open: boolean;
  onToggle: (open: boolean) => void;
}

function Section({ section, open, onToggle }: SectionProps) {
  const [folder, entry] = splitTitle(section.title);
  const count = (kind: LineKind) => section.lines.filter((l) => l.kind === kind).length;
  return (
    <details open={open} onToggle={(e) => onToggle(e.currentTarget.open)}>
      <summary>
        <span className="path">
          {folder}
          <b>{entry}</b>
        </span>
        <span className="counts">
          {count("add") > 0 && <span className="add">+{count("add")}</span>}{" "}
          {count("del") > 0 && <span className="del">−{count("del")}</span>}
        </span>
      </summary>
      {open && (
        <pre>
          {section.lines.map((l, j) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: nor do lines move
            <span key={j} className={l.kind}>
              <span className="sign">{signs[l.kind]}</span>
              <span className="line">{l.text || " "}</span>
            </span>
          ))}
        </pre>
      )}
    </details>
  );
}
