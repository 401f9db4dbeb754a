import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { Role } from "../gen/millrace/rights/v1/rights_pb";
import { loginCode, Session } from "./identity";

beforeEach(() => vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined }));

/** An IdentityService of functions. */
const session = (api: Partial<Record<keyof Api["identity"], unknown>>) => new Session(api as Api["identity"]);

test("the code of a login link is read from the fragment only", () => {
  expect(loginCode("#login=mrl_abc_234")).toBe("mrl_abc_234");
  for (const other of ["", "#", "#login=", "#login=mrt_abc_234", "?login=mrl_abc_234", "#login=mrl_ABC"])
    expect(loginCode(other)).toBeUndefined();
});

test("a gateway without logins shows the page", async () => {
  const open = session({ whoAmI: async () => ({ loginNeeded: false, name: "", role: 0 }) });
  await open.start();
  expect(open.get()).toEqual({ state: "open" });
  const older = session({ whoAmI: async () => Promise.reject(new ConnectError("no", Code.Unimplemented)) });
  await older.start();
  expect(older.get()).toEqual({ state: "open" });
});

test("a gateway that does not answer shows no page", async () => {
  const away = session({ whoAmI: async () => Promise.reject(new ConnectError("etcd is away", Code.Unavailable)) });
  await away.start();
  expect(away.get()).toEqual({ state: "out", problem: "etcd is away" });
});

test("a used link says so, and the session that is there stays", async () => {
  const redeem = async () => Promise.reject(new ConnectError("the link was used", Code.Unauthenticated));
  const out = session({ redeem, whoAmI: async () => ({ loginNeeded: true, name: "", role: 0 }) });
  await out.start("mrl_a_b");
  expect(out.get()).toEqual({ state: "out", problem: "the link was used" });
  const still = session({ redeem, whoAmI: async () => ({ loginNeeded: true, name: "ann", role: Role.VIEWER }) });
  await still.start("mrl_a_b");
  expect(still.get()).toEqual({ state: "in", name: "ann", role: "viewer" });
});

test("log in, lose the session, log out", async () => {
  const s = session({
    whoAmI: async () => ({ loginNeeded: true, name: "", role: 0 }),
    login: async ({ password }: { password: string }) =>
      password === "right"
        ? { name: "ann", role: Role.APPROVER }
        : Promise.reject(new ConnectError("no such name", Code.Unauthenticated)),
    logout: async () => ({ ended: 1 }),
  });
  await s.start();
  expect(await s.login("ann", "wrong")).toBe("no such name");
  expect(s.get()).toEqual({ state: "out" });
  expect(await s.login("ann", "right")).toBeUndefined();
  expect(s.get()).toEqual({ state: "in", name: "ann", role: "approver" });
  s.lost();
  expect(s.get()).toMatchObject({ state: "out", problem: expect.stringContaining("over") });
  await s.login("ann", "right");
  await s.logout();
  expect(s.get()).toEqual({ state: "out" });
});
