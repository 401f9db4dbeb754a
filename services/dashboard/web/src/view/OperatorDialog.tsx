import { type FormEvent, type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import type { Decision } from "../state/changes";
import { operatorName, rememberOperator } from "../state/operator";

interface Props {
  title: string;
  /** The label of the button. */
  confirm: string;
  /** Whether it takes something from the network. */
  danger: boolean;
  /** What the second field is called, and whether it may be left empty. */
  note: { label: string; hint: string; required: boolean };
  /** Why a person may not do this. */
  refusal?: (by: string) => string | undefined;
  /** Returns in one line why it failed. */
  submit: (decision: Decision) => Promise<string | undefined>;
  /** Called when the dialog ends; with the service's error if that came after the dialog had closed. */
  onDone: (error?: string) => void;
  dialog?: RefObject<HTMLDialogElement | null>;
  /** Called when the request is sent. */
  onSend?: () => void;
  children: ReactNode;
}

/** A confirmation before an action: what happens, who requests it, and why. */
export function OperatorDialog({ title, confirm, danger, note, refusal, submit, onDone, onSend, ...rest }: Props) {
  const own = useRef<HTMLDialogElement>(null);
  const dialog = rest.dialog ?? own;
  const id = useId();
  const [by, setBy] = useState(operatorName);
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  useEffect(() => dialog.current?.showModal(), [dialog]);
  const refused = refusal?.(by);
  const incomplete = by.trim() === "" || (note.required && text.trim() === "");

  async function send(e: FormEvent) {
    e.preventDefault();
    rememberOperator(by);
    setBusy(true);
    setError(undefined);
    onSend?.();
    const failure = await submit({ by: by.trim(), note: text.trim() });
    setBusy(false);
    if (failure && dialog.current?.open) setError(failure);
    else onDone(failure);
  }

  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={() => onDone()} data-testid="confirm">
      <form onSubmit={send}>
        <h3 id={id}>{title}</h3>
        {rest.children}
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
            {note.label} <span className="dim">({note.hint})</span>
          </span>
          <textarea
            name="note"
            rows={2}
            required={note.required}
            maxLength={400}
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
        </label>
        {(error ?? refused) && (
          <p className="problem" role="alert">
            {error ?? refused}
          </p>
        )}
        <div className="actions">
          <button type="button" className="button quiet" onClick={() => onDone()} disabled={busy}>
            Cancel
          </button>
          <button
            type="submit"
            className={danger ? "button danger" : "button primary"}
            disabled={busy || incomplete || refused !== undefined}
          >
            {busy ? "Working…" : confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
