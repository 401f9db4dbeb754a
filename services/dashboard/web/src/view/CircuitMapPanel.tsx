import { type Circuit, type Hop, State } from "../gen/millrace/circuits/v1/circuits_pb";
import { endedStates, pathMissing, pathText, routersAlong } from "../model/circuits";
import { describeGraph } from "../model/topology";
import { useGraph, useNames, useResource, useStore } from "../state/hooks";
import { Empty, Panel } from "./Panel";
import { TopologyMap } from "./TopologyMap";

interface Props {
  path: readonly Hop[];
  backup: readonly Hop[];
  /** The circuit whose path this is; without one it is what would be booked. */
  circuit: Circuit | undefined;
}

/** The path of a circuit on the map, and its backup. */
export function CircuitMapPanel({ path, backup, circuit }: Props) {
  const graph = useGraph();
  const { routerName } = useNames();
  const { topology } = useStore().network;
  const source = useResource(topology);
  const overlays = overlaysOf(path, backup, circuit);
  const label = `${describeGraph(graph)} Path: ${pathText(path, routerName)}.`;
  return (
    <Panel
      title="Path"
      className="circuit-map"
      testId="circuit-map"
      source={source}
      aside={
        path.length > 0 && (
          <span className="dim">
            {circuit ? (over(circuit) ? "was " : "") : "would take "}
            {pathText(path, routerName)}
            {backup.length > 0 && `, backup ${pathText(backup, routerName)}`}
          </span>
        )
      }
    >
      {graph.routers.length === 0 ? (
        <Empty title="No routers yet.">The map appears once a router reports its link-state database.</Empty>
      ) : (
        <TopologyMap graph={graph} overlays={overlays} drifts={[]} freezes={[]} label={label} />
      )}
    </Panel>
  );
}

type Overlays = Parameters<typeof TopologyMap>[0]["overlays"];

const over = (c: Circuit) => endedStates.includes(c.state);

/** The path, solid while routers have it, faint where it is not there, and the backup, faint. */
function overlaysOf(path: readonly Hop[], backup: readonly Hop[], circuit: Circuit | undefined): Overlays {
  const out: Overlays = [];
  const status = circuit?.state === State.ACTIVE ? "active" : "planned";
  const lost = circuit !== undefined && (pathMissing(circuit) || over(circuit));
  if (path.length > 0) out.push({ name: "path", router: "", status, path: routersAlong(path), broken: lost });
  if (backup.length > 0)
    out.push({ name: "backup", router: "", status: "planned", path: routersAlong(backup), broken: true });
  return out;
}
