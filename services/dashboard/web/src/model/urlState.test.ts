import { expect, test } from "vitest";
import { formatUrlState, initialUrlState, parseUrlState, type UrlState } from "./urlState";

test.each<[string, UrlState]>([
  ["the page as it starts", { view: "map" }],
  ["a change set", { change: "cs-0042", view: "map" }],
  ["everything at once", { change: "cs-0042", pair: "w1-e1", view: "table" }],
  ["a VPN", { page: "vpns", vpn: "red & blue", view: "map" }],
  ["a circuit of a link", { page: "circuits", circuit: "01a7-ff", link: "10.255.0.1|10.0.1.1", view: "map" }],
  ["a maintenance", { page: "circuits", maintenance: "CHG-1042", view: "map" }],
  ["what did not come out of a paper", { page: "papers", paper: "002", outcome: "outside", view: "map" }],
  ["an id with characters that mean something in a link", { pair: "10.0.0.0/24,10.1.0.0/24&v=2", view: "map" }],
])("a link to %s opens the same again", (_name, state) => {
  expect(parseUrlState(formatUrlState(state))).toEqual(state);
});

test.each([
  ["no version", "?change=cs-1"],
  ["a version we do not know", "?v=2&change=cs-1"],
  ["nothing", ""],
])("a link with %s opens the page as it starts", (_name, search) => {
  expect(parseUrlState(search)).toEqual(initialUrlState);
});

test("an unknown page is the network", () => {
  expect(parseUrlState("?v=1&page=globe").page).toBeUndefined();
});

test("an unknown view is the map", () => {
  expect(parseUrlState("?v=1&view=globe").view).toBe("map");
});

test("the page as it starts has a clean link", () => {
  expect(formatUrlState(initialUrlState)).toBe("");
});
