// The network, its load, and the flow records it exports.
import type { Api } from "../api/clients";
import type { EffectivenessResponse, NowResponse, Pair } from "../gen/millrace/alpha/v1/alpha_pb";
import type { QualityResponse } from "../gen/millrace/flow/v1/flow_pb";
import type { StatusResponse } from "../gen/millrace/split/v1/split_pb";
import type { Device } from "../gen/millrace/telemetry/v1/telemetry_pb";
import type { TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import type { CounterSeries } from "../model/counters";
import { attempt, type Decision } from "./changes";
import { always, Resource } from "./resource";
import { CounterReader } from "./telemetry";

export interface NetworkStore {
  topology: Resource<TopologySnapshot | undefined>;
  devices: Resource<Device[]>;
  counters: Resource<CounterSeries>;
  pairs: Resource<Pair[]>;
  /** What pairs known before caught, on the days that were judged. */
  effectiveness: Resource<EffectivenessResponse>;
  /** What is alpha now. */
  now: Resource<NowResponse>;
  /** Has a pair that is alpha now redirected; returns in one line why that failed. */
  redirect: (pair: string, decision: Decision) => Promise<string | undefined>;
  quality: Resource<QualityResponse>;
  /** What is decided about the split of each port. */
  splits: Resource<StatusResponse>;
}

export function createNetwork(api: Api): NetworkStore {
  const reader = new CounterReader(api.store);
  const now = new Resource((signal) => api.alpha.now({}, { signal }), always(5000));
  return {
    now,
    redirect: (pair, { by, note }) => attempt(() => api.alpha.redirect({ pair, by, note }), now),
    topology: new Resource(async (signal) => (await api.paths.topology({}, { signal })).snapshot, always(4000)),
    devices: new Resource(async (signal) => (await api.telemetry.devices({}, { signal })).devices, always(3000)),
    counters: new Resource((signal) => reader.read(signal), always(2000)),
    pairs: new Resource(async (signal) => (await api.alpha.list({}, { signal })).pairs, always(10_000)),
    effectiveness: new Resource((signal) => api.alpha.effectiveness({ storedOnly: true }, { signal }), always(300_000)),
    splits: new Resource((signal) => api.split.status({}, { signal }), always(10_000)),
    quality: new Resource((signal) => api.collector.quality({}, { signal }), always(5000)),
  };
}
