import { useMemo, useState } from "react";
import { CircuitsService, type Maintenance } from "../gen/millrace/circuits/v1/circuits_pb";
import { windowText } from "../model/circuits";
import { maintenanceLabel, maintenanceOpen, outText, pairNames } from "../model/maintenance";
import { formatCount } from "../model/units";
import { useLive, useMayOperate, useNames, useResource, useStore, useTime } from "../state/hooks";
import { CallButton } from "./CallButton";
import { Badge, Empty, Panel } from "./Panel";
import { windowClock } from "./time";

interface Props {
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  /** Opens the form that plans another one. */
  onPlan: () => void;
}

/** Maintenance that is planned or under way, or all that is kept, the earliest first. */
export function MaintenanceListPanel({ selected, onSelect, onPlan }: Props) {
  const { maintenance } = useStore();
  const mayOperate = useMayOperate();
  const [all, setAll] = useState(false);
  const source = useLive(maintenance.list);
  const now = useTime((t) => Math.floor(t / 1000) * 1000);
  const rows = (source.data ?? []).filter((m) => all || maintenanceOpen(m, now));
  return (
    <Panel
      title="Maintenance"
      className="maintenance-list"
      testId="maintenance"
      source={source}
      aside={
        <>
          <span className="dim">{formatCount(rows.length)}</span>
          <fieldset className="switch">
            <legend className="hidden">Show maintenance</legend>
            <button type="button" aria-pressed={!all} onClick={() => setAll(false)}>
              To come
            </button>
            <button type="button" aria-pressed={all} onClick={() => setAll(true)}>
              All
            </button>
          </fieldset>
          {mayOperate && (
            <CallButton call={CircuitsService.method.addMaintenance} className="button small" onClick={onPlan}>
              Plan…
            </CallButton>
          )}
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty title={all ? "No maintenance." : "No maintenance is planned."}>
          An operator plans when links or routers are out: circuits are moved at once, and none is booked there.
        </Empty>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>Id</th>
                <th>Out</th>
                <th>Window</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((m) => (
                <Row
                  key={m.id}
                  maintenance={m}
                  now={now}
                  selected={m.id === selected}
                  onSelect={() => onSelect(m.id === selected ? undefined : m.id)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

interface RowProps {
  maintenance: Maintenance;
  now: number;
  selected: boolean;
  onSelect: () => void;
}

function Row({ maintenance: m, now, selected, onSelect }: RowProps) {
  const label = maintenanceLabel(m, now);
  const out = useOutText()(m);
  return (
    <tr className={selected ? "selected" : ""} data-testid="maintenance-row" data-maintenance={m.id}>
      <td title={m.reason}>
        <button type="button" className="link" aria-pressed={selected} onClick={onSelect}>
          {m.id}
        </button>
      </td>
      <td className="out" title={out}>
        {out}
      </td>
      <td>{windowText(m.start, m.end, windowClock)}</td>
      <td>
        <Badge tone={label.tone}>{label.text}</Badge>
      </td>
    </tr>
  );
}

/** What of the network is out, by the names that links and routers have. */
export function useOutText(): (m: Maintenance) => string {
  const snapshot = useResource(useStore().network.topology).data;
  const { linkName, routerName } = useNames();
  const pairName = useMemo(() => pairNames(snapshot, linkName), [snapshot, linkName]);
  return (m) => outText(m, pairName, routerName);
}
