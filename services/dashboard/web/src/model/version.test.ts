import { expect, test } from "vitest";
import { readVersion, shortVersion } from "./version";

const answer = {
  version: "0.1.0",
  commit: "5bf42c3",
  date: "2026-11-23T20:00:00Z",
  go: "go1.26.8",
  platform: "linux/amd64",
};

test("the version with the day of its commit", () => {
  expect(shortVersion(readVersion(answer))).toBe("0.1.0, 2026-11-23");
  expect(shortVersion(readVersion({ version: "0.1.0-dev" }))).toBe("0.1.0-dev");
});

test("what is no version is refused", () => {
  for (const other of [undefined, null, "x", {}, { version: 1 }]) expect(() => readVersion(other)).toThrow();
});
