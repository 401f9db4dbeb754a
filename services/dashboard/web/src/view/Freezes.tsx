import { useState } from "react";
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import { ChangeService } from "../gen/millrace/push/v1/push_pb";
import { frozenText } from "../model/guards";
import { useResource, useStore } from "../state/hooks";
import { CallButton } from "./CallButton";
import { FreezeDialog, UnfreezeDialog } from "./FreezeDialog";
import { Ago } from "./time";

/** What the freeze switch keeps change sets off, who turned it on and why; nothing while it is off. */
export function Freezes() {
  const { data = [], error } = useResource(useStore().changes.freezes);
  const [ending, setEnding] = useState<Freeze>();
  return (
    <>
      {error && (
        <p className="problem" role="status">
          Not known whether routers are frozen: {error}.
        </p>
      )}
      {data.map((f) => (
        <div key={f.router} className="problem freeze" role="status" data-testid="freeze" data-router={f.router}>
          <p>
            <strong>{frozenText(f)}</strong> by {f.by}, <Ago at={f.since} />: {f.reason}. No change set is sent.
          </p>
          <CallButton call={ChangeService.method.unfreeze} className="button" onClick={() => setEnding(f)}>
            Unfreeze
          </CallButton>
        </div>
      ))}
      {ending && <UnfreezeDialog freeze={ending} onDone={() => setEnding(undefined)} />}
    </>
  );
}

/** The switch itself. */
export function FreezeButton() {
  const { data } = useResource(useStore().changes.freezes);
  const [asking, setAsking] = useState(false);
  if (!data) return null;
  return (
    <>
      <CallButton call={ChangeService.method.freeze} className="button small" onClick={() => setAsking(true)}>
        Freeze…
      </CallButton>
      {asking && <FreezeDialog freezes={data} onDone={() => setAsking(false)} />}
    </>
  );
}
