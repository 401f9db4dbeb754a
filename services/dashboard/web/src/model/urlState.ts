// What the operator looks at, as a link that can be sent to a colleague.

export type MapView = "map" | "table";

export interface UrlState {
  /** Selected change set. */
  change?: string;
  /** Selected alpha pair. */
  pair?: string;
  view: MapView;
}

/** Raised when a parameter changes its meaning; links of another version open the page as it starts. */
const version = "1";

export const initialUrlState: UrlState = { view: "map" };

export function parseUrlState(search: string): UrlState {
  const q = new URLSearchParams(search);
  if (q.get("v") !== version) return initialUrlState;
  const state: UrlState = { view: q.get("view") === "table" ? "table" : "map" };
  const change = q.get("change");
  const pair = q.get("pair");
  if (change) state.change = change;
  if (pair) state.pair = pair;
  return state;
}

/** The search part of the link, empty for the page as it starts. */
export function formatUrlState(state: UrlState): string {
  const q = new URLSearchParams();
  if (state.change) q.set("change", state.change);
  if (state.pair) q.set("pair", state.pair);
  if (state.view !== "map") q.set("view", state.view);
  return q.size === 0 ? "" : `?v=${version}&${q}`;
}
