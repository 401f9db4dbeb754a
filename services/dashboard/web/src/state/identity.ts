// Who is logged in. The session itself is a cookie that scripts cannot read.
import { Code, ConnectError } from "@connectrpc/connect";
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import type { Role } from "../gen/millrace/rights/v1/rights_pb";
import { type Call, procedureOf, refusalsOf, roleName } from "../model/permissions";
import { rememberOperator } from "./operator";

export type Identity =
  | { state: "asking" }
  /** The gateway asks for no login. */
  | { state: "open" }
  /** provider is what the OpenID provider is called, where there is one. */
  | { state: "out"; problem?: string; provider?: string }
  | { state: "in"; name: string; role: string };

/** The code of a login link, which is in the fragment so that no server and no log gets it. */
export function loginCode(hash: string): string | undefined {
  return /^#login=(mrl_[a-z2-7_]+)$/.exec(hash)?.[1];
}

/** What an OpenID provider sends the browser back with, in the query. */
export interface ProviderAnswer {
  code: string;
  state: string;
  iss: string;
  error: string;
  errorDescription: string;
}

/** The answer of a provider, where the query has one: a link of the page never has a state. */
export function providerAnswer(search: string): ProviderAnswer | undefined {
  const q = new URLSearchParams(search);
  const text = (name: string) => q.get(name) ?? "";
  if (!text("state") || !(text("code") || text("error"))) return undefined;
  return {
    code: text("code"),
    state: text("state"),
    iss: text("iss"),
    error: text("error"),
    errorDescription: text("error_description"),
  };
}

/** A login at the provider that has begun in this tab, and where the person was. */
const begunKey = "millrace.login";

interface Begun {
  login: string;
  search: string;
}

/** Remembers it while the browser is at the provider. No other tab, and no other site, has it. */
function remember(begun: Begun) {
  sessionStorage.setItem(begunKey, JSON.stringify(begun));
}

/** Takes it out, so that it is used once. */
export function takeBegun(): Begun {
  const none = { login: "", search: "" };
  const text = sessionStorage.getItem(begunKey);
  sessionStorage.removeItem(begunKey);
  try {
    return { ...none, ...JSON.parse(text ?? "{}") };
  } catch {
    return none;
  }
}

export class Session {
  private provider: string | undefined;
  private identity: Identity = { state: "asking" };
  private refusals: ReadonlyMap<string, string> = new Map();
  private readonly listeners = new Set<() => void>();

  constructor(private readonly api: Api["identity"]) {}

  readonly get = (): Identity => this.identity;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  /** Uses a login link or the answer of a provider up if there is one, then asks who is logged in. */
  async start(code?: string, answer?: ProviderAnswer & { login: string }): Promise<void> {
    let problem: string | undefined;
    try {
      if (code) await this.api.redeem({ code });
      if (answer) await this.api.endProviderLogin(answer);
    } catch (reason) {
      problem = errorText(reason);
    }
    try {
      const who = await this.api.whoAmI({});
      this.provider = who.provider || undefined;
      if (!who.loginNeeded) this.set({ state: "open" });
      else if (who.name) this.entered(who.name, who.role);
      else this.set({ state: "out", ...(problem && { problem }) });
    } catch (reason) {
      // An older gateway, or one without the service, asks for no login.
      const { code: status } = ConnectError.from(reason);
      if (status === Code.Unimplemented || status === Code.NotFound) this.set({ state: "open" });
      else this.set({ state: "out", problem: errorText(reason) });
    }
  }

  /** Returns in one line why it failed. */
  async login(name: string, password: string): Promise<string | undefined> {
    try {
      const who = await this.api.login({ name, password });
      this.entered(who.name, who.role);
      return undefined;
    } catch (reason) {
      return errorText(reason);
    }
  }

  /** Goes to the provider; returns in one line why that failed. */
  async toProvider(search: string, go: (url: string) => void): Promise<string | undefined> {
    try {
      const { url, login } = await this.api.beginProviderLogin({});
      remember({ login, search });
      go(url);
      return undefined;
    } catch (reason) {
      return errorText(reason);
    }
  }

  async logout(): Promise<void> {
    try {
      await this.api.logout({});
      this.set({ state: "out" });
    } catch (reason) {
      this.set({ state: "out", problem: `the login may not have ended: ${errorText(reason)}` });
    }
  }

  /** A call was refused for want of a login. */
  readonly lost = () => {
    if (this.identity.state === "in") this.set({ state: "out", problem: "the login is over; log in again" });
  };

  /** Why a call is refused to the login; undefined where it is not, as far as is known. */
  readonly refusal = (call: Call): string | undefined => this.refusals.get(procedureOf(call));

  /** Asks what the login may do: when it begins, and when a call was refused that was thought to be allowed. */
  readonly askPermissions = async (): Promise<void> => {
    try {
      const may = await this.api.permissions({});
      this.refusals = refusalsOf(may.calls, may.role);
    } catch {
      this.refusals = new Map(); // an older gateway does not say; the services refuse as ever
    }
    for (const listener of this.listeners) listener();
  };

  private entered(name: string, role: Role) {
    rememberOperator(name);
    this.refusals = new Map(); // not those of who was here before
    this.set({ state: "in", name, role: roleName(role) });
    void this.askPermissions();
  }

  private set(identity: Identity) {
    this.identity = identity.state === "out" && this.provider ? { ...identity, provider: this.provider } : identity;
    for (const listener of this.listeners) listener();
  }
}
