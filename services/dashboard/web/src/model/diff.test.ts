import { expect, test } from "vitest";
import { type LineKind, openAtFirst, parseDiff, splitTitle } from "./diff";

test("a diff per configuration path becomes one section per path", () => {
  const got = parseDiff(
    [
      "--- WR running",
      "+++ WR planned",
      "@@ /qos/queues/queue[name=alpha] @@",
      '+{"name": "alpha"}',
      "@@ /x @@",
      ' {"a": 1,',
      '-"b": 2}',
      '+"b": 3}',
      "",
    ].join("\n"),
  );
  expect(got).toEqual({
    added: 2,
    removed: 1,
    sections: [
      { title: "/qos/queues/queue[name=alpha]", lines: [{ kind: "add", text: '{"name": "alpha"}' }] },
      {
        title: "/x",
        lines: [
          { kind: "context", text: '{"a": 1,' },
          { kind: "del", text: '"b": 2}' },
          { kind: "add", text: '"b": 3}' },
        ],
      },
    ],
  });
});

test.each([
  ["a changed file", "--- a/qos\n+++ b/qos\n@@ -1,2 +1,2 @@\n-x\n+y\n", "/qos"],
  ["an added one", "--- /dev/null\n+++ b/qos\n@@ -0,0 +1 @@\n+y\n", "/qos"],
  ["a removed one", "--- a/qos\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "/qos"],
  ["a path that is no file", "--- /qos/q[name=a]\n+++ /qos/q[name=a]\n@@ -1 +1 @@\n-x\n+y\n", "/qos/q[name=a]"],
  ["a hunk that names its function", "--- a/qos\n+++ b/qos\n@@ -1 +1 @@ scheduler\n-x\n+y\n", "scheduler"],
])("the title of %s", (_name, text, want) => {
  expect(parseDiff(text).sections.map((s) => s.title)).toEqual([want]);
});

test("two files do not run into each other", () => {
  const got = parseDiff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+1\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n+2\n");
  expect(got.sections.map((s) => [s.title, s.lines.length])).toEqual([
    ["/x", 1],
    ["/y", 1],
  ]);
});

test("a removed line that starts with dashes is no file name", () => {
  const got = parseDiff("@@ /x @@\n--- old\n+new\n");
  expect(got.sections[0]?.lines).toEqual([
    { kind: "del", text: "-- old" },
    { kind: "add", text: "new" },
  ]);
});

test("text without any header is shown whole", () => {
  expect(parseDiff("+a\nb\n\n c")).toEqual({
    added: 1,
    removed: 0,
    sections: [
      {
        title: "",
        lines: [
          { kind: "add", text: "a" },
          { kind: "context", text: "b" },
          { kind: "context", text: "" },
          { kind: "context", text: "c" },
        ],
      },
    ],
  });
});

test("no diff has no sections", () => {
  expect(parseDiff("")).toEqual({ sections: [], added: 0, removed: 0 });
});

test.each([
  ["/qos/queues/queue[name=te-alpha]", "/qos/queues/", "queue[name=te-alpha]"],
  ["/qos/interfaces/interface[interface-id=ge-0/0/1]", "/qos/interfaces/", "interface[interface-id=ge-0/0/1]"],
  ["scheduler", "", "scheduler"],
])("of %s the last entry stands out", (title, folder, entry) => {
  expect(splitTitle(title)).toEqual([folder, entry]);
});

test("long additions are folded at first, changes to what is there are not", () => {
  const section = (kind: LineKind, n: number) => ({
    title: "",
    lines: Array.from({ length: n }, () => ({ kind, text: "" })),
  });
  const sections = [section("add", 9), section("add", 9), section("del", 30), section("add", 1)];
  expect(openAtFirst(sections)).toEqual([true, false, true, false]);
});
