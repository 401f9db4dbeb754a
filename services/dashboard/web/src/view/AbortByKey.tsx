import { useState } from "react";
import { type ChangeSet, State } from "../gen/millrace/push/v1/push_pb";
import { canAbort, isRunning } from "../model/changes";
import { useStore } from "../state/hooks";
import { operatorName } from "../state/operator";
import { ConfirmDialog } from "./ConfirmDialog";
import { useHold } from "./useHold";

interface Props {
  list: readonly ChangeSet[];
  /** The change set that is open, if one is. */
  open: ChangeSet | undefined;
}

/** Stops the running change set while A is held; a user without a name must enter one first. */
export function AbortByKey({ list, open }: Props) {
  const { changes } = useStore();
  const [asking, setAsking] = useState<ChangeSet>();
  const [told, setTold] = useState<string>();
  const [asked, setAsked] = useState<string>();
  const target = abortable(list, open);
  const abort = async (c: ChangeSet) => {
    const by = operatorName();
    if (by === "") return setAsking(c);
    const error = await changes.act("abort", c.id, { by, note: "with the key" });
    setTold(error ? `Abort of ${c.id} failed: ${error}` : undefined);
    setAsked(error ? undefined : c.id);
  };
  const holding = useHold("a", target && (() => void abort(target)), target?.id);
  return (
    <>
      {told && (
        <p className="problem" role="alert">
          {told}
        </p>
      )}
      {target && (
        <div className={holding ? "problem running holding" : "problem running"} role="status" data-testid="running">
          <p>
            <strong>{target.id}</strong> is {doing(target)}.{" "}
            {target.id === asked
              ? "Its abort is requested."
              : holding
                ? "Keep holding A to abort it…"
                : "Hold A to abort it: its routers are rolled back."}
          </p>
        </div>
      )}
      {asking && <ConfirmDialog action="abort" change={asking} onDone={() => setAsking(undefined)} />}
    </>
  );
}

/** The change set that the key stops: the open one, else the only one that runs. */
function abortable(list: readonly ChangeSet[], open: ChangeSet | undefined): ChangeSet | undefined {
  const running = list.filter((c) => isRunning(c.state) && canAbort(c.state) && c.state !== State.DRAFT);
  if (open && running.includes(open)) return open;
  return running.length === 1 ? running[0] : undefined;
}

function doing(c: ChangeSet): string {
  if (c.state === State.CANARY) return `on its canary router ${c.canary} alone`;
  return c.state === State.ROLLING_BACK ? "being rolled back" : "being applied";
}
