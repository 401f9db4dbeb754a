// VPN flows, their fairness and their weights; polled only while their page is open.
import type { Api } from "../api/clients";
import type { Change, FlowsResponse, WeightsResponse } from "../gen/millrace/vpn/v1/vpn_pb";
import { mostRows, type VpnSeries } from "../model/vpn";
import { always, Resource } from "./resource";
import { VpnReader } from "./vpnReader";

export interface VpnStore {
  flows: Resource<FlowsResponse>;
  /** Rates and fairness of the last minutes. */
  series: Resource<VpnSeries>;
  weights: Resource<WeightsResponse>;
  /** Changes of the weights, newest first. */
  history: Resource<Change[]>;
  /** Limits the series to one VPN. */
  select: (vpn: string | undefined) => void;
}

export function createVpn(api: Pick<Api, "store" | "vpn">): VpnStore {
  const reader = new VpnReader(api.store);
  const series = new Resource((signal) => reader.read(signal), always(1000));
  return {
    series,
    flows: new Resource((signal) => api.vpn.flows({ limit: mostRows }, { signal }), always(1000)),
    weights: new Resource((signal) => api.vpn.weights({}, { signal }), always(3000)),
    history: new Resource(async (signal) => (await api.vpn.history({ limit: 50 }, { signal })).changes, always(10_000)),
    select: (vpn) => {
      if (reader.select(vpn) && series.polling) void series.refresh();
    },
  };
}
