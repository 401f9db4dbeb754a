import { useEffect, useRef, useState } from "react";
import type { ChangeSet, State } from "../gen/millrace/push/v1/push_pb";
import { type Action, diffSizes, undoes } from "../model/changes";
import { actionRefusal, effectOf, freezeOf, frozenText, titleOf } from "../model/guards";
import { useResource, useStore } from "../state/hooks";
import { OperatorDialog } from "./OperatorDialog";

interface Props {
  action: Action;
  change: ChangeSet;
  /** Called when the dialog ends; with the service's error if that came after the dialog had closed. */
  onDone: (error?: string) => void;
}

export function ConfirmDialog({ action, change, onDone }: Props) {
  const store = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  const [sentIn, setSentIn] = useState<State>();
  const title = titleOf(change, action);
  const frozen = freezeOf(useResource(store.changes.freezes).data ?? [], change);
  // The call may last as long as the change; once the state moves, the page behind the dialog shows the progress.
  const moved = sentIn !== undefined && change.state !== sentIn;
  useEffect(() => {
    if (moved) dialog.current?.close();
  }, [moved]);
  return (
    <OperatorDialog
      dialog={dialog}
      title={`${title}: ${change.title || change.id}?`}
      confirm={`Yes, ${title.toLowerCase()}`}
      danger={undoes(action)}
      note={{ label: "Note", hint: "optional, kept in the history", required: false }}
      refusal={(by) => actionRefusal(change, action, by)}
      submit={(decision) => store.changes.act(action, change.id, decision)}
      onSend={() => setSentIn(change.state)}
      onDone={onDone}
    >
      <p>{summary(change, action)}</p>
      <p className="dim">{effectOf(change, action)}</p>
      {frozen && action !== "abort" && (
        <p className="problem" role="status">
          {frozenText(frozen)} by {frozen.by}: {frozen.reason}. Nothing of this change set is sent until that ends.
        </p>
      )}
    </OperatorDialog>
  );
}

/** The extent of the action in one line; a rollback has the reverse of the diff. */
function summary(change: ChangeSet, action: Action): string {
  const sizes = diffSizes(change);
  const sum = (part: "added" | "removed") => sizes.reduce((n, d) => n + d[part], 0);
  const [added, removed] = action === "rollback" ? [sum("removed"), sum("added")] : [sum("added"), sum("removed")];
  const routers = `${sizes.length} ${sizes.length === 1 ? "router" : "routers"}`;
  return `${routers}: ${sizes.map((d) => d.device).join(", ")}. ${added} lines added, ${removed} removed.`;
}
