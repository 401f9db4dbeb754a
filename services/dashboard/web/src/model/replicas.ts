/** The replica that leads a service, as GET /replicas answers; leader is empty where nobody does. */
export interface Leader {
  service: string;
  leader: string;
}

/** Throws where the answer is of another kind, as that of a proxy that answers everything with its own page. */
export function readLeaders(answer: unknown): Leader[] {
  if (!Array.isArray(answer)) throw new Error("the gateway did not answer who leads");
  return answer
    .map((row) => Object(row) as Record<string, unknown>)
    .filter(({ led }) => led === true)
    .map(({ service, leader }) => ({ service: String(service), leader: typeof leader === "string" ? leader : "" }));
}

/** Each leader's host: a name is host, process and chance. A service that is not used has none. */
export function leadersText(all: Leader[]): string {
  return all
    .filter(({ leader }) => leader)
    .map(({ service, leader }) => `${service} ${leader.split("/")[0]}`)
    .join(", ");
}

/** Each leader's whole name. */
export function leadersDetail(all: Leader[]): string {
  return all.map(({ service, leader }) => `${service}: ${leader || "nobody leads"}`).join("\n");
}
