import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { type Action, actionEffects, actionTitles, diffSizes, undoes } from "../model/changes";
import { useStore } from "../state/hooks";

interface Props {
  action: Action;
  change: ChangeSet;
  /** Called when the dialog ends; with the service's error if that came after the dialog had closed. */
  onDone: (error?: string) => void;
}

const nameKey = "millrace.operator";

export function ConfirmDialog({ action, change, onDone }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const store = useStore();
  const id = useId();
  const [by, setBy] = useState(() => localStorage.getItem(nameKey) ?? "");
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const before = useRef(change.state);
  useEffect(() => dialog.current?.showModal(), []);
  // The call may last as long as the change; once the state moves, the page behind the dialog shows the progress.
  const moved = busy && change.state !== before.current;

  async function submit(e: FormEvent) {
    e.preventDefault();
    localStorage.setItem(nameKey, by.trim());
    setBusy(true);
    setError(undefined);
    const failure = await store.changes.act(action, change.id, { by: by.trim(), note: note.trim() });
    setBusy(false);
    if (failure && dialog.current?.open) setError(failure);
    else onDone(failure);
  }

  useEffect(() => {
    if (moved) dialog.current?.close();
  }, [moved]);

  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={() => onDone()} data-testid="confirm">
      <form onSubmit={submit}>
        <h3 id={id}>
          {actionTitles[action]}: {change.title || change.id}?
        </h3>
        <p>{summary(change, action)}</p>
        <p className="dim">{actionEffects[action]}</p>
        <label>
          Your name
          <input
            name="by"
            required
            autoComplete="username"
            maxLength={60}
            value={by}
            onChange={(e) => setBy(e.target.value)}
          />
        </label>
        <label>
          <span>
            Note <span className="dim">(optional, kept in the history)</span>
          </span>
          <textarea name="note" rows={2} maxLength={400} value={note} onChange={(e) => setNote(e.target.value)} />
        </label>
        {error && (
          <p className="problem" role="alert">
            {error}
          </p>
        )}
        <div className="actions">
          <button type="button" className="button quiet" onClick={() => onDone()} disabled={busy}>
            Cancel
          </button>
          <button
            type="submit"
            className={undoes(action) ? "button danger" : "button primary"}
            disabled={busy || by.trim() === ""}
          >
            {busy ? "Working…" : `Yes, ${actionTitles[action].toLowerCase()}`}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** The extent of the action in one line; a rollback has the reverse of the diff. */
function summary(change: ChangeSet, action: Action): string {
  const sizes = diffSizes(change);
  const sum = (part: "added" | "removed") => sizes.reduce((n, d) => n + d[part], 0);
  const [added, removed] = action === "rollback" ? [sum("removed"), sum("added")] : [sum("added"), sum("removed")];
  return `${sizes.length} routers: ${sizes.map((d) => d.device).join(", ")}. ${added} lines added, ${removed} removed.`;
}
