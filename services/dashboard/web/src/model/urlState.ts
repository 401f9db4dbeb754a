// The selection of the page as a link that can be sent to a colleague.

export type MapView = "map" | "table";

/** Pages beside the network's own. */
export type Page = "circuits" | "vpns" | "papers" | "audit";

const pages: readonly string[] = ["circuits", "vpns", "papers", "audit"] satisfies Page[];

export interface UrlState {
  /** Undefined is the network. */
  page?: Page | undefined;
  /** Selected change set. */
  change?: string;
  /** Selected alpha pair. */
  pair?: string;
  /** Selected VPN. */
  vpn?: string | undefined;
  /** Selected circuit, and the link whose circuits are listed. */
  circuit?: string | undefined;
  link?: string | undefined;
  /** Selected maintenance of the circuits' page. */
  maintenance?: string | undefined;
  /** Filters of the scoreboard. */
  paper?: string | undefined;
  outcome?: string | undefined;
  view: MapView;
}

/** Raised when a parameter changes its meaning; links of another version open the page as it starts. */
const version = "1";

const texts = ["change", "pair", "vpn", "circuit", "link", "maintenance", "paper", "outcome"] as const;

export const initialUrlState: UrlState = { view: "map" };

export function parseUrlState(search: string): UrlState {
  const q = new URLSearchParams(search);
  if (q.get("v") !== version) return initialUrlState;
  const state: UrlState = { view: q.get("view") === "table" ? "table" : "map" };
  const page = q.get("page");
  if (page && pages.includes(page)) state.page = page as Page;
  for (const name of texts) {
    const value = q.get(name);
    if (value) state[name] = value;
  }
  return state;
}

/** The search part of the link, empty for the page as it starts. */
export function formatUrlState(state: UrlState): string {
  const q = new URLSearchParams();
  if (state.page) q.set("page", state.page);
  for (const name of texts) {
    const value = state[name];
    if (value) q.set(name, value);
  }
  if (state.view !== "map") q.set("view", state.view);
  return q.size === 0 ? "" : `?v=${version}&${q}`;
}
