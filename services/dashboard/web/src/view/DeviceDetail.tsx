import { useState } from "react";
import type { DeviceChange } from "../gen/millrace/push/v1/push_pb";
import { deviceLabel } from "../model/changes";
import { parseDiff } from "../model/diff";
import { checkFailed, planSentences } from "../model/plan";
import { nameOfAddress } from "../model/topology";
import { useResource, useStore } from "../state/hooks";
import { DiffCounts } from "./DiffCounts";
import { DiffView } from "./DiffView";
import { Badge } from "./Panel";
import { TimeOfDay } from "./time";

/** One router's part of a change set: the plan in words, its checks, its diff. */
export function DeviceDetail({ device, open: first }: { device: DeviceChange; open: boolean }) {
  const [open, setOpen] = useState(first);
  const label = deviceLabel(device.state);
  const snapshot = useResource(useStore().network.topology).data;
  const diff = parseDiff(device.diff);
  return (
    <details
      className="device"
      open={open}
      onToggle={(e) => setOpen(e.currentTarget.open)}
      data-testid={`device-${device.device}`}
    >
      <summary>
        <strong>{device.device}</strong>
        <span className="dim grow">{device.plan?.reasons.join("; ")}</span>
        <DiffCounts added={diff.added} removed={diff.removed} />
        <Badge tone={label.tone}>{label.text}</Badge>
      </summary>
      {device.error && <p className="problem">{device.error}</p>}
      {device.plan && (
        <ul className="sentences">
          {planSentences(device.plan, (a) => nameOfAddress(snapshot, a)).map((s) => (
            <li key={s}>{s}</li>
          ))}
        </ul>
      )}
      {device.checks.length > 0 && (
        <ul className="checks" aria-label="Checks">
          {device.checks.map((c) => (
            <li key={c} className={checkFailed(c) ? "bad" : "good"}>
              {c}
            </li>
          ))}
        </ul>
      )}
      {device.applied && (
        <p className="dim times">
          applied <TimeOfDay at={device.applied} />
          {device.confirmed ? (
            <>
              , confirmed <TimeOfDay at={device.confirmed} />
            </>
          ) : (
            device.rollbackAt && (
              <>
                , rolls back automatically at <TimeOfDay at={device.rollbackAt} /> unless confirmed
              </>
            )
          )}
          {device.commitId && `, commit ${device.commitId}`}
        </p>
      )}
      {open && <DiffView diff={diff} />}
    </details>
  );
}
