import { useState } from "react";
import { type Diff, type DiffSection, type LineKind, openAtFirst, splitTitle } from "../model/diff";
import { DiffCounts } from "./DiffCounts";

const signs: Record<LineKind, string> = { add: "+", del: "−", context: " " };

/** A diff with one block per config entry; long ones are folded at first. */
export function DiffView({ diff }: { diff: Diff }) {
  const [folds, setFolds] = useState(() => openAtFirst(diff.sections));
  if (diff.sections.length === 0) return <p className="dim no-diff">No change: the running config matches the plan.</p>;
  const all = folds.every((open) => open);
  return (
    <div className="diff" data-testid="diff">
      <p className="diff-head">
        <span className="dim">
          {diff.sections.length} config {diff.sections.length === 1 ? "entry" : "entries"}
        </span>
        <button type="button" className="link" onClick={() => setFolds(folds.map(() => !all))}>
          {all ? "Fold all" : "Unfold all"}
        </button>
      </p>
      {diff.sections.map((s, i) => (
        <Section
          // biome-ignore lint/suspicious/noArrayIndexKey: sections of one diff never move, so their position identifies them
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
        <DiffCounts added={count("add")} removed={count("del")} />
      </summary>
      {open && (
        <pre>
          {section.lines.map((l, j) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines never move
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
