import type { Drift } from "../gen/millrace/push/v1/drift_pb";
import type { Freeze } from "../gen/millrace/push/v1/guard_pb";
import { driftText } from "../model/drift";
import type { Size } from "../model/geometry";
import { frozenText } from "../model/guards";
import type { Point } from "../model/layout";
import type { Router } from "../model/topology";

interface Props {
  router: Router;
  at: Point;
  box: Size;
  /** Whether there is room for the address below the name. */
  address: boolean;
  drift: Drift | undefined;
  freeze: Freeze | undefined;
}

export function RouterBox({ router, at, box, address, drift, freeze }: Props) {
  const second = router.state === "unreachable" ? "unreachable" : freeze ? "frozen" : router.loopback;
  return (
    <g
      className={`router ${router.state} ${freeze ? "frozen" : ""}`}
      transform={`translate(${at.x - box.width / 2} ${at.y - box.height / 2})`}
      data-testid={`router-${router.name}`}
      data-state={router.state}
      data-drift={drift?.change}
      data-frozen={freeze?.by}
    >
      <title>{routerText(router, drift, freeze)}</title>
      <rect width={box.width} height={box.height} rx="7" />
      <text className="name" x={box.width / 2} y={address ? 19 : 16}>
        {router.name}
      </text>
      {address && (
        <text className="address" x={box.width / 2} y="34">
          {second}
        </text>
      )}
      {drift && (
        <text className="drift" x={box.width - 9} y="13">
          ≠
        </text>
      )}
    </g>
  );
}

function routerText(r: Router, drift: Drift | undefined, freeze: Freeze | undefined): string {
  const lines = [`${r.name} ${r.loopback}`];
  if (r.sidLabel) lines.push(`node SID label ${r.sidLabel}`);
  if (r.prefixes.length) lines.push(`originates ${r.prefixes.join(", ")}`);
  if (r.state === "unmanaged") lines.push("unmanaged: not in the inventory");
  if (r.error) lines.push(r.error);
  if (drift) lines.push(driftText(drift));
  if (freeze) lines.push(`${frozenText(freeze)} by ${freeze.by}: ${freeze.reason}`);
  return lines.join("\n");
}
