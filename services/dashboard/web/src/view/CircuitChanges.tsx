import { stateLabel } from "../model/changes";
import { changeSetsOf } from "../model/tonight";
import { formatUrlState } from "../model/urlState";
import { useLive, useStore } from "../state/hooks";
import { Fact } from "./Fact";
import { Badge } from "./Panel";
import { TimeOfDay } from "./time";

const shownChanges = 5;

/** The change sets that a circuit is in, of those that are listed. */
export function CircuitChanges({ id }: { id: string }) {
  const { changes } = useStore();
  const { data } = useLive(changes.list);
  const all = changeSetsOf(id, data ?? []);
  if (all.length === 0) return null;
  return (
    <Fact name="Change sets">
      {all.slice(0, shownChanges).map((c) => (
        <p key={c.id} data-testid="circuit-change">
          <a href={formatUrlState({ change: c.id, view: "map" })}>{c.id}</a>{" "}
          <Badge tone={stateLabel(c.state).tone}>{stateLabel(c.state).text}</Badge>{" "}
          <span className="dim">
            <TimeOfDay at={c.created} />
            {!c.circuits.includes(id) && " · left out"}
          </span>
        </p>
      ))}
      {all.length > shownChanges && <p className="dim">and {all.length - shownChanges} before</p>}
    </Fact>
  );
}
