import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Api } from "../api/clients";
import { addSeries, emptyVpnBook, mostLines, newestOf, type VpnBook, vpnSpan } from "../model/vpn";

/** Samples do not arrive in the order of their times; some of the last seconds may still be on their way. */
const late = 5000;

/** Keeps VPN flows over time, and asks only for what is newer than what it has. */
export class VpnReader {
  #book: VpnBook = emptyVpnBook;
  #vpn = "";

  constructor(private readonly api: Pick<Api["store"], "vpnSeries">) {}

  /** Another selection begins with another history: what was not drawn was not asked for. */
  select(vpn: string | undefined): boolean {
    if ((vpn ?? "") === this.#vpn) return false;
    this.#vpn = vpn ?? "";
    this.#book = { ...emptyVpnBook, fairness: this.#book.fairness };
    return true;
  }

  async read(signal: AbortSignal): Promise<VpnBook> {
    const now = Date.now();
    const vpn = this.#vpn;
    const newest = this.#book.flows.size === 0 ? undefined : newestOf(this.#book);
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
    if (vpn === this.#vpn) this.#book = addSeries(this.#book, answer);
    return this.#book;
  }
}
