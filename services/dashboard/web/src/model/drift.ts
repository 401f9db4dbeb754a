// Routers whose running config differs from what change sets left.
import type { Drift } from "../gen/millrace/push/v1/drift_pb";

const entries = (n: number) => `${n} config ${n === 1 ? "entry differs" : "entries differ"}`;

/** The drift of a router in one sentence. */
export const driftText = (d: Drift): string => `${entries(d.entries)} from what change set ${d.change} left`;

/** The drift of one router. */
export const driftAt = (drifts: readonly Drift[], router: string): Drift | undefined =>
  drifts.find((d) => d.router === router);

/** The drifts from what a change set left, and those it is to repair. */
export const driftsOf = (drifts: readonly Drift[], change: string): Drift[] =>
  drifts.filter((d) => d.change === change || d.repair === change);
