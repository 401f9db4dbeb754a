// Builders for tests of the model: networks and change sets written short.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { LspSchema, RedirectRuleSchema, RouterPlanSchema } from "../gen/millrace/policy/v1/policy_pb";
import {
  type ChangeSet,
  ChangeSetSchema,
  DeviceChangeSchema,
  type DeviceState,
  type State,
} from "../gen/millrace/push/v1/push_pb";
import { type TopologySnapshot, TopologySnapshotSchema } from "../gen/millrace/topology/v1/topology_pb";

export const loopback = (index: number) => `10.255.0.${index + 1}`;

/**
 * A network written as "WR-ER WR-CR:5 CR>ER": a link, one with metric 5, and
 * one that only CR announces. Routers are numbered by first mention.
 */
export function network(text: string): TopologySnapshot {
  const names: string[] = [];
  const id = (name: string) => {
    if (!names.includes(name)) names.push(name);
    return loopback(names.indexOf(name));
  };
  const links = text.split(" ").flatMap((word, n) => {
    const [ends = "", metric = "10"] = word.split(":");
    const [from = "", to = ""] = ends.split(/[->]/);
    const link = (a: string, b: string, end: number) => ({
      id: `${id(a)}|10.0.${n}.${end}`,
      localRouterId: id(a),
      remoteRouterId: id(b),
      localAddress: `10.0.${n}.${end}`,
      remoteAddress: `10.0.${n}.${3 - end}`,
      localInterface: `to-${b}-${n}`,
      igpMetric: Number(metric),
      maxBandwidth: 100_000_000n,
    });
    return ends.includes(">") ? [link(from, to, 1)] : [link(from, to, 1), link(to, from, 2)];
  });
  const nodes = names.map((name, i) => ({ name, routerId: loopback(i), loopback: `${loopback(i)}/32` }));
  return create(TopologySnapshotSchema, { nodes, links });
}

interface DeviceText {
  device: string;
  state: DeviceState;
  /** LSPs by name, with their hops as loopbacks. */
  lsps?: Record<string, string[]>;
  /** When the router had it, ms. */
  applied?: number;
}

export function changeSet(id: string, state: State, created: number, devices: DeviceText[] = []): ChangeSet {
  return create(ChangeSetSchema, {
    id,
    state,
    created: timestampFromMs(created),
    devices: devices.map((d) =>
      create(DeviceChangeSchema, {
        device: d.device,
        state: d.state,
        ...(d.applied !== undefined && { applied: timestampFromMs(d.applied) }),
        plan: create(RouterPlanSchema, {
          router: d.device,
          lsps: Object.entries(d.lsps ?? {}).map(([name, hops]) =>
            create(LspSchema, { name, hops, destination: hops.at(-1) ?? "" }),
          ),
          rules: Object.keys(d.lsps ?? {}).map((lsp) =>
            create(RedirectRuleSchema, { lsp, pair: `${lsp}-pair`, queue: "alpha" }),
          ),
        }),
      }),
    ),
  });
}
