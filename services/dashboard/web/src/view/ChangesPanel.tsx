import type { ChangeSet } from "../gen/millrace/push/v1/push_pb";
import { awaiting, stateLabel, stateName } from "../model/changes";
import { driftsOf } from "../model/drift";
import { useResource, useStore } from "../state/hooks";
import { AbortByKey } from "./AbortByKey";
import { ChangeDetail } from "./ChangeDetail";
import { FreezeButton, Freezes } from "./Freezes";
import { Badge, Empty, Panel } from "./Panel";
import { Ago } from "./time";

interface Props {
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  onPair: (id: string) => void;
}

export function ChangesPanel({ selected, onSelect, onPair }: Props) {
  const store = useStore();
  const changes = useResource(store.changes.list);
  const drifts = useResource(store.changes.drift).data ?? [];
  const list = changes.data ?? [];
  const open = list.find((c) => c.id === selected);
  const waiting = awaiting(list).length;
  return (
    <Panel
      title="Change sets"
      className={selected ? "changes open" : "changes"}
      testId="changes"
      source={changes}
      aside={
        <>
          {waiting > 0 ? (
            <Badge tone="waiting">{waiting} awaiting approval</Badge>
          ) : (
            <span className="dim">none awaiting approval</span>
          )}
          <FreezeButton />
        </>
      }
    >
      <Freezes />
      <AbortByKey list={list} open={open} />
      {list.length === 0 ? (
        <Empty title="No change sets yet.">
          <code>millrace alpha nightly</code> requests one when the alpha pairs change. No router is changed before you
          approve it.
        </Empty>
      ) : (
        <ul className="change-list" aria-label="Change sets, newest first">
          {list.map((c) => (
            <ChangeRow
              key={c.id}
              change={c}
              selected={c.id === selected}
              drift={drifts.some((d) => d.change === c.id)}
              onSelect={() => onSelect(c.id === selected ? undefined : c.id)}
            />
          ))}
        </ul>
      )}
      {open && (
        <ChangeDetail
          key={open.id}
          change={open}
          drifts={driftsOf(drifts, open.id)}
          onPair={onPair}
          onClose={() => onSelect(undefined)}
        />
      )}
      {selected && !open && changes.data && (
        <p className="problem" role="status">
          Change set {selected} is not among the newest {list.length}.{" "}
          <button type="button" className="link" onClick={() => onSelect(undefined)}>
            Show the list
          </button>
        </p>
      )}
    </Panel>
  );
}

interface RowProps {
  change: ChangeSet;
  selected: boolean;
  drift: boolean;
  onSelect: () => void;
}

function ChangeRow({ change, selected, drift, onSelect }: RowProps) {
  const label = stateLabel(change.state);
  return (
    <li>
      <button
        type="button"
        className="change-row"
        aria-pressed={selected}
        onClick={onSelect}
        data-testid="change-row"
        data-change={change.id}
        data-state={stateName(change.state)}
      >
        <Badge tone={label.tone}>{label.text}</Badge>
        <span className="title">
          {drift && <Badge tone="bad">drift</Badge>} {change.title || change.id}
        </span>
        <span className="by dim">
          {change.id} · {change.author}
          {change.reason && ` · ${change.reason}`}
        </span>
        <span className="when dim">
          <Ago at={change.created} />
        </span>
      </button>
    </li>
  );
}
