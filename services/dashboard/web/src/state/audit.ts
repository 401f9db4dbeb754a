import type { Api } from "../api/clients";
import { type AuditFilter, type AuditLog, emptyAuditLog, newest, withOlder } from "../model/audit";
import { always, Resource } from "./resource";

/** How many records are loaded at once. */
const page = 100;

/** The audit log, newest first, and older pages that somebody asked for. */
export class AuditReader {
  #log: AuditLog = emptyAuditLog;
  #filter: AuditFilter = { user: "", procedure: "" };
  #older = false;
  readonly log: Resource<AuditLog>;

  constructor(private readonly api: Pick<Api["audit"], "list">) {
    this.log = new Resource((signal) => this.#read(signal), always(5000));
  }

  /** Selects records; those of another filter are forgotten. */
  select(filter: AuditFilter) {
    if (filter.user === this.#filter.user && filter.procedure === this.#filter.procedure) return;
    this.#filter = filter;
    this.#log = emptyAuditLog;
    void this.log.refresh();
  }

  /** Loads the page behind the last one. */
  older() {
    this.#older = true;
    void this.log.refresh();
  }

  async #read(signal: AbortSignal): Promise<AuditLog> {
    const filter = this.#filter;
    const { before } = this.#log;
    const add = this.#older && before > 0n ? withOlder : newest;
    this.#older = false;
    const request = { ...filter, limit: page, ...(add === withOlder && { before }) };
    const answer = await this.api.list(request, { signal });
    if (filter === this.#filter) this.#log = add(this.#log, answer);
    return this.#log;
  }
}
