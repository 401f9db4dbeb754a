import type { Drift } from "../gen/millrace/push/v1/drift_pb";
import { parseDiff } from "../model/diff";
import { driftText } from "../model/drift";
import { DiffView } from "./DiffView";
import { Badge } from "./Panel";
import { Ago } from "./time";

/** Routers whose running config differs from what the change set left, or that it is to repair. */
export function DriftFacts({ drifts }: { drifts: readonly Drift[] }) {
  return drifts.map((d) => (
    <details key={d.router} className="device" data-testid={`drift-${d.router}`}>
      <summary>
        <strong>{d.router}</strong>
        <span className="dim grow">
          {driftText(d)}, <Ago at={d.since} />
          {d.repair && `; repair asked for: ${d.repair}`}
        </span>
        <Badge tone="bad">drift</Badge>
      </summary>
      <DiffView diff={parseDiff(d.diff)} />
    </details>
  ));
}
