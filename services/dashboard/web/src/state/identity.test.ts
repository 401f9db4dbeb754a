import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../api/clients";
import { ChangeService } from "../gen/millrace/push/v1/push_pb";
import { Role } from "../gen/millrace/rights/v1/rights_pb";
import { loginCode, providerAnswer, Session, takeBegun } from "./identity";

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

test("what a login may not do is known while it lasts, and asked again on demand", async () => {
  let needs = Role.APPROVER;
  const permissions = vi.fn(async () => ({
    role: Role.OPERATOR,
    calls: [
      { procedure: "/millrace.push.v1.ChangeService/Approve", needs, refused: needs > Role.OPERATOR ? "no" : "" },
    ],
  }));
  const login = async ({ name }: { name: string }) => ({ name, role: Role.OPERATOR });
  const s = session({ login, permissions });
  const told = vi.fn();
  s.subscribe(told);
  expect(s.refusal(ChangeService.method.approve)).toBeUndefined();
  await s.login("ann", "right");
  await vi.waitFor(() =>
    expect(s.refusal(ChangeService.method.approve)).toBe("Needs the role approver; you are operator"),
  );
  expect(told).toHaveBeenCalledTimes(2); // the login, and what it may do
  expect(s.refusal(ChangeService.method.list)).toBeUndefined();
  needs = Role.OPERATOR;
  await s.askPermissions();
  expect(s.refusal(ChangeService.method.approve)).toBeUndefined();
});

test("what an older gateway does not say is refused by nobody here", async () => {
  const permissions = async () => Promise.reject(new ConnectError("no", Code.Unimplemented));
  const s = session({ permissions });
  await s.askPermissions();
  expect(s.refusal(ChangeService.method.approve)).toBeUndefined();
});

test("the answer of a provider has a state, and a code or an error", () => {
  expect(providerAnswer("?code=c&state=s&iss=i")).toEqual({
    code: "c",
    state: "s",
    iss: "i",
    error: "",
    errorDescription: "",
  });
  expect(providerAnswer("?error=access_denied&state=s")).toMatchObject({ code: "", error: "access_denied" });
  for (const other of ["", "?v=1&page=circuits", "?code=c", "?state=s"]) expect(providerAnswer(other)).toBeUndefined();
});

/** A sessionStorage of this test. */
function tab() {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => kept.set(k, v),
    removeItem: (k: string) => kept.delete(k),
  });
  return kept;
}

test("a login at the provider is kept in the tab, and used once", async () => {
  const kept = tab();
  const s = session({ beginProviderLogin: async () => ({ url: "https://idp.example.net/auth", login: "sealed" }) });
  const went: string[] = [];
  expect(await s.toProvider("?v=1&page=vpns", (url) => went.push(url))).toBeUndefined();
  expect(went).toEqual(["https://idp.example.net/auth"]);
  expect(takeBegun()).toEqual({ login: "sealed", search: "?v=1&page=vpns" });
  expect(takeBegun()).toEqual({ login: "", search: "" });
  kept.set("millrace.login", "{");
  expect(takeBegun()).toEqual({ login: "", search: "" });
});

test("a provider that is down leaves the form, which names it", async () => {
  tab();
  const down = async () => Promise.reject(new ConnectError("the OpenID provider does not answer", Code.Unavailable));
  const s = session({
    whoAmI: async () => ({ loginNeeded: true, name: "", role: 0, provider: "sign-on" }),
    beginProviderLogin: down,
    endProviderLogin: down,
  });
  await s.start(undefined, { code: "c", state: "s", iss: "", error: "", errorDescription: "", login: "sealed" });
  expect(s.get()).toEqual({ state: "out", problem: "the OpenID provider does not answer", provider: "sign-on" });
  expect(await s.toProvider("", () => expect.unreachable())).toBe("the OpenID provider does not answer");
});
