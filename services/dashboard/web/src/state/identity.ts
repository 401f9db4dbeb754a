// Who is logged in. The session itself is a cookie that scripts cannot read.
import { Code, ConnectError } from "@connectrpc/connect";
import type { Api } from "../api/clients";
import { errorText } from "../api/errors";
import { Role } from "../gen/millrace/rights/v1/rights_pb";
import { rememberOperator } from "./operator";

export type Identity =
  | { state: "asking" }
  /** The gateway asks for no login. */
  | { state: "open" }
  | { state: "out"; problem?: string }
  | { state: "in"; name: string; role: string };

/** How a role is shown. */
export const roleName = (role: Role): string => (Role[role] ?? "").toLowerCase();

/** The code of a login link, which is in the fragment so that no server and no log gets it. */
export function loginCode(hash: string): string | undefined {
  return /^#login=(mrl_[a-z2-7_]+)$/.exec(hash)?.[1];
}

export class Session {
  private identity: Identity = { state: "asking" };
  private readonly listeners = new Set<() => void>();

  constructor(private readonly api: Api["identity"]) {}

  readonly get = (): Identity => this.identity;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  /** Uses a login link up if there is one, then asks who is logged in. */
  async start(code?: string): Promise<void> {
    let problem: string | undefined;
    if (code) {
      try {
        await this.api.redeem({ code });
      } catch (reason) {
        problem = errorText(reason);
      }
    }
    try {
      const who = await this.api.whoAmI({});
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

  private entered(name: string, role: Role) {
    rememberOperator(name);
    this.set({ state: "in", name, role: roleName(role) });
  }

  private set(identity: Identity) {
    this.identity = identity;
    for (const listener of this.listeners) listener();
  }
}
