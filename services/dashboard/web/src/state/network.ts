// The network, its load, and the flow records it exports.
import type { Api } from "../api/clients";
import type { Pair } from "../gen/millrace/alpha/v1/alpha_pb";
import type { QualityResponse } from "../gen/millrace/flow/v1/flow_pb";
import type { Device } from "../gen/millrace/telemetry/v1/telemetry_pb";
import type { TopologySnapshot } from "../gen/millrace/topology/v1/topology_pb";
import type { CounterSeries } from "../model/counters";
import { always, Resource } from "./resource";
import { CounterReader } from "./telemetry";

export interface NetworkStore {
  topology: Resource<TopologySnapshot | undefined>;
  devices: Resource<Device[]>;
  counters: Resource<CounterSeries>;
  pairs: Resource<Pair[]>;
  quality: Resource<QualityResponse>;
}

export function createNetwork(api: Api): NetworkStore {
  const reader = new CounterReader(api.store);
  return {
    topology: new Resource(async (signal) => (await api.paths.topology({}, { signal })).snapshot, always(4000)),
    devices: new Resource(async (signal) => (await api.telemetry.devices({}, { signal })).devices, always(3000)),
    counters: new Resource((signal) => reader.read(signal), always(2000)),
    pairs: new Resource(async (signal) => (await api.alpha.list({}, { signal })).pairs, always(10_000)),
    quality: new Resource((signal) => api.collector.quality({}, { signal }), always(5000)),
  };
}
