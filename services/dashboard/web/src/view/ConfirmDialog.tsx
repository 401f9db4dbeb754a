import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import type { Action } from "../model/changes";
import { parseDiff } from "../model/diff";
import { useStore } from "../state/hooks";
import { actionTitles } from "./ChangeDetail";

interface Props {
  action: Action;
  change: ChangeSet;
  /** Called when the operator is done with it; with an error the service gave after the dialog had closed. */
  onDone: (error?: string) => void;
}

const nameKey = "millrace.operator";

const explanations: Record<Action, string> = {
  approve: "The routers are changed at once, with commit-confirm: a router that loses contact goes back by itself.",
  apply: "The routers are changed at once, with commit-confirm: a router that loses contact goes back by itself.",
  rollback: "Every router gets back what it held before this change set.",
};

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
  // The call may last as long as the change does; once its state moves, the detail shows more than we can.
  const moved = busy && change.state !== before.current;

  async function submit(e: FormEvent) {
    e.preventDefault();
    localStorage.setItem(nameKey, by.trim());
    setBusy(true);
    setError(undefined);
    const failure = await store.act(action, change.id, { by: by.trim(), note: note.trim() });
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
        <p>{summary(change)}</p>
        <p className="dim">{explanations[action]}</p>
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
            className={action === "rollback" ? "button danger" : "button primary"}
            disabled={busy || by.trim() === ""}
          >
            {busy ? "Working…" : `Yes, ${actionTitles[action].toLowerCase()}`}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function summary(change: ChangeSet): string {
  const touched = change.devices.filter((d) => d.diff !== "" || d.units.length > 0);
  const lines = touched.map((d) => parseDiff(d.diff));
  const sum = (f: (d: (typeof lines)[number]) => number) => lines.reduce((n, d) => n + f(d), 0);
  return `${touched.length} routers: ${touched.map((d) => d.device).join(", ")}. ${sum((d) => d.added)} lines added, ${sum((d) => d.removed)} removed.`;
}
