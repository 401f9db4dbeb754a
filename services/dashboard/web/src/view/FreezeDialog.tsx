import { useState } from "react";
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import { frozenText } from "../model/guards";
import { useResource, useStore } from "../state/hooks";
import { OperatorDialog } from "./OperatorDialog";
import { Ago } from "./time";

interface FreezeProps {
  freezes: readonly Freeze[];
  onDone: () => void;
}

/** Turns the freeze switch on, of one router or of all. */
export function FreezeDialog({ freezes, onDone }: FreezeProps) {
  const store = useStore();
  const devices = useResource(store.network.devices).data ?? [];
  const free = (router: string) => freezes.every((f) => f.router !== router);
  const names = devices.map((d) => d.name).filter(free);
  const [router, setRouter] = useState(free("") ? "" : names[0]);
  return (
    <OperatorDialog
      title="Freeze routers?"
      confirm="Yes, freeze"
      danger
      note={{ label: "Reason", hint: "shown to everybody while it is frozen", required: true }}
      submit={(decision) => store.changes.freeze(router ?? "", decision)}
      onDone={onDone}
    >
      <p className="dim">
        No change set is sent to a frozen router until somebody ends the freeze. One that is being applied now stops,
        and all its routers roll back.
      </p>
      <label>
        What
        <select name="router" value={router} onChange={(e) => setRouter(e.target.value)}>
          {free("") && <option value="">All routers</option>}
          {names.map((name) => (
            <option key={name} value={name}>
              Router {name}
            </option>
          ))}
        </select>
      </label>
    </OperatorDialog>
  );
}

/** Turns it off. */
export function UnfreezeDialog({ freeze, onDone }: { freeze: Freeze; onDone: () => void }) {
  const store = useStore();
  return (
    <OperatorDialog
      title={freeze.router ? `Unfreeze router ${freeze.router}?` : "Unfreeze all routers?"}
      confirm="Yes, unfreeze"
      danger={false}
      note={{ label: "Note", hint: "optional, kept in the event", required: false }}
      submit={(decision) => store.changes.unfreeze(freeze.router, decision)}
      onDone={onDone}
    >
      <p>
        {frozenText(freeze)} by {freeze.by}, <Ago at={freeze.since} />: {freeze.reason}.
      </p>
      <p className="dim">
        Approved and scheduled change sets can be applied again
        {freeze.router ? ", unless another router of theirs is frozen" : ", but on routers that are frozen one by one"}.
      </p>
    </OperatorDialog>
  );
}
