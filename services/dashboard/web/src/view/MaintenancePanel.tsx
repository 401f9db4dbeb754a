import { useMemo, useState } from "react";
import { CircuitsService, type Maintenance } from "../gen/millrace/circuits/v1/circuits_pb";
import { windowText } from "../model/circuits";
import { maintenanceLabel, maintenanceOpen } from "../model/maintenance";
import { useLive, useMayOperate, useStore, useTime } from "../state/hooks";
import { CallButton } from "./CallButton";
import { Fact } from "./Fact";
import { MaintenanceHits } from "./MaintenanceHits";
import { useOutText } from "./MaintenanceListPanel";
import { OperatorDialog } from "./OperatorDialog";
import { Badge, Panel } from "./Panel";
import { TimeOfDay, windowClock } from "./time";

interface Props {
  id: string;
  onClose: () => void;
  onCircuit: (id: string) => void;
}

/** One maintenance, and the circuits that it still hits: what to look at before the work begins. */
export function MaintenancePanel({ id, onClose, onCircuit }: Props) {
  const { maintenance } = useStore();
  const mayOperate = useMayOperate();
  const one = useMemo(() => maintenance.one(id), [maintenance, id]);
  const source = useLive(one);
  const now = useTime((t) => Math.floor(t / 1000) * 1000);
  const [removing, setRemoving] = useState(false);
  const m = source.data?.maintenance;
  const open = m !== undefined && maintenanceOpen(m, now);
  return (
    <Panel
      title={`Maintenance ${id}`}
      className="circuit"
      testId="maintenance-detail"
      source={source}
      aside={
        <div className="actions">
          {open && mayOperate && (
            <CallButton
              call={CircuitsService.method.removeMaintenance}
              className="button danger"
              onClick={() => setRemoving(true)}
            >
              Remove
            </CallButton>
          )}
          <button type="button" className="button quiet" aria-label="Close maintenance" onClick={onClose}>
            ×
          </button>
        </div>
      }
    >
      {m && <Facts maintenance={m} now={now} />}
      {open && (
        <div className="hits">
          <MaintenanceHits hits={source.data?.hits ?? []} omitted={source.data?.omitted ?? 0} onCircuit={onCircuit} />
        </div>
      )}
      {m && removing && <RemoveDialog maintenance={m} onDone={() => setRemoving(false)} />}
    </Panel>
  );
}

function Facts({ maintenance: m, now }: { maintenance: Maintenance; now: number }) {
  const label = maintenanceLabel(m, now);
  const out = useOutText()(m);
  return (
    <article data-maintenance={m.id} data-state={label.text}>
      <p className="circuit-state">
        <Badge tone={label.tone}>{label.text}</Badge> {m.reason}
      </p>
      <dl className="facts">
        <Fact name="Out">{out}</Fact>
        <Fact name="Window">{windowText(m.start, m.end, windowClock)}</Fact>
        <Fact name="Planned">
          by {m.by}, <TimeOfDay at={m.created} />
        </Fact>
        {m.removed && (
          <Fact name="Removed">
            by {m.removedBy}, <TimeOfDay at={m.removed} />
            {m.removedNote && `: ${m.removedNote}`}
          </Fact>
        )}
      </dl>
    </article>
  );
}

function RemoveDialog({ maintenance: m, onDone }: { maintenance: Maintenance; onDone: () => void }) {
  const { maintenance } = useStore();
  const out = useOutText()(m);
  return (
    <OperatorDialog
      title={`Remove maintenance ${m.id}?`}
      confirm="Yes, remove"
      danger
      note={{ label: "Note", hint: "optional, kept with the maintenance", required: false }}
      submit={(decision) => maintenance.remove(m.id, decision)}
      onDone={() => onDone()}
    >
      <p>
        {out}, {windowText(m.start, m.end, windowClock)}: {m.reason}.
      </p>
      <p className="dim">Links have their capacity again. Circuits stay where they moved until they are reoptimised.</p>
    </OperatorDialog>
  );
}
