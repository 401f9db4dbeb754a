import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import { addSeries, emptyVpnSeries, mostLines, newestOf, type VpnSeries, vpnSpan } from "../model/vpn";

/** How much older than the newest known sample one may be that arrives later. */
const late = 5000;

/** Keeps VPN flows over time, and requests only newer samples. */
export class VpnReader {
  #series: VpnSeries = emptyVpnSeries;
  #vpn = "";

  constructor(private readonly api: Pick<Api["store"], "vpnSeries">) {}

  /** Selects one VPN, or all; its history is loaded anew, since other flows were not requested before. */
  select(vpn: string | undefined): boolean {
    if ((vpn ?? "") === this.#vpn) return false;
    this.#vpn = vpn ?? "";
    this.#series = { ...emptyVpnSeries, fairness: this.#series.fairness };
    return true;
  }

  async read(signal: AbortSignal): Promise<VpnSeries> {
    const now = Date.now();
    const vpn = this.#vpn;
    const newest = this.#series.flows.size === 0 ? undefined : newestOf(this.#series);
    const answer = await this.api.vpnSeries(
      {
        vpn,
        limit: mostLines,
        from: timestampFromMs(newest === undefined ? now - vpnSpan : newest - late),
        // The control plane's clock may be ahead of this browser's.
        to: timestampFromMs(now + 60_000),
      },
      { signal },
    );
    if (vpn === this.#vpn) this.#series = addSeries(this.#series, answer);
    return this.#series;
  }
}
