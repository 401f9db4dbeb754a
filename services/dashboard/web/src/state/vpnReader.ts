import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import { addSeries, emptyVpnSeries, mostLines, newestOf, type VpnSeries, vpnSpan } from "../model/vpn";

/** Samples do not arrive in the order of their times; some of the last seconds may still be on their way. */
const late = 5000;

/** Keeps VPN flows over time, and asks only for what is newer than what it has. */
export class VpnReader {
  #series: VpnSeries = emptyVpnSeries;
  #vpn = "";

  constructor(private readonly api: Pick<Api["store"], "vpnSeries">) {}

  /** Another selection begins with another history: what was not drawn was not asked for. */
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
        // The clock of the control plane may be a little ahead of this browser's.
        to: timestampFromMs(now + 60_000),
      },
      { signal },
    );
    if (vpn === this.#vpn) this.#series = addSeries(this.#series, answer);
    return this.#series;
  }
}
