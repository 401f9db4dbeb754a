/** What a process was built from, as GET /version answers. */
export interface Version {
  version: string;
  commit: string;
  date: string;
  go: string;
  platform: string;
}

/** The version and the day of its commit, where they are known. */
export function shortVersion({ version, date }: Version): string {
  const day = date.slice(0, 10);
  return day ? `${version}, ${day}` : version;
}

/** Throws where the answer is of another kind, as that of a proxy that answers everything with its own page. */
export function readVersion(answer: unknown): Version {
  const fields = Object(answer) as Record<string, unknown>;
  const text = (name: string) => (typeof fields[name] === "string" ? fields[name] : "");
  if (!text("version")) throw new Error("the gateway answered no version");
  return {
    version: text("version"),
    commit: text("commit"),
    date: text("date"),
    go: text("go"),
    platform: text("platform"),
  };
}
