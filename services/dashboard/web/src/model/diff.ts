// A unified diff, cut into sections that can be shown one under the other.

export type LineKind = "add" | "del" | "context";

export interface DiffLine {
  kind: LineKind;
  text: string;
}

export interface DiffSection {
  /** What the section is about: a configuration path, or the text of its @@ line. */
  title: string;
  lines: DiffLine[];
}

export interface Diff {
  sections: DiffSection[];
  added: number;
  removed: number;
}

const fileName = (line: string) =>
  line
    .slice(4)
    .replace(/\t.*$/, "")
    .replace(/^[ab]\//, "/")
    .replace(/^\/\//, "/");

/** One of two file names; /dev/null stands for "not there". */
function pickName(before: string, after: string): string {
  if (after === "/dev/null") return before;
  return after;
}

/** Title of a hunk: what stands between or behind the @@, without line numbers. */
function hunkTitle(line: string): string {
  const numbered = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$/.exec(line);
  if (numbered) return numbered[1] ?? "";
  return line.replace(/^@@ ?/, "").replace(/ ?@@$/, "");
}

const kinds: Record<string, LineKind> = { "+": "add", "-": "del", " ": "context" };

/**
 * Reads a unified diff. Lines before any header belong to a section without a
 * title, so that a diff that is not quite one is still shown whole.
 */
export function parseDiff(text: string): Diff {
  const diff: Diff = { sections: [], added: 0, removed: 0 };
  let file = "";
  let current: DiffSection | undefined;
  const open = (title: string) => {
    current = { title, lines: [] };
    diff.sections.push(current);
    return current;
  };
  const lines = text.replace(/\n$/, "").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const next = lines[i + 1] ?? "";
    if (line.startsWith("--- ") && next.startsWith("+++ ")) {
      file = pickName(fileName(line), fileName(next));
      current = undefined;
      i++;
    } else if (line.startsWith("@@")) {
      open(hunkTitle(line) || file);
    } else if (line !== "" || current) {
      addLine(diff, current ?? open(file), line);
    }
  }
  return diff;
}

function addLine(diff: Diff, section: DiffSection, line: string) {
  const kind = kinds[line[0] ?? " "];
  section.lines.push({ kind: kind ?? "context", text: kind ? line.slice(1) : line });
  if (kind === "add") diff.added++;
  if (kind === "del") diff.removed++;
}

/** How many lines are unfolded at first; what changes something that is there always is. */
const firstLines = 12;

/** Which sections to show unfolded at first: those that change what is there, then as many as fit. */
export function openAtFirst(sections: readonly DiffSection[]): boolean[] {
  let left = firstLines;
  return sections.map((s) => {
    const changes = s.lines.some((l) => l.kind !== "add");
    left -= s.lines.length;
    return changes || left >= 0;
  });
}

/** Cuts a configuration path before its last entry, which is what people look for. */
export function splitTitle(title: string): [folder: string, entry: string] {
  let depth = 0;
  for (let i = title.length - 1; i >= 0; i--) {
    if (title[i] === "]") depth++;
    if (title[i] === "[") depth--;
    if (title[i] === "/" && depth === 0) return [title.slice(0, i + 1), title.slice(i + 1)];
  }
  return ["", title];
}
