import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { createApi } from "./clients";

test("a refused call is reported, but not the refusal of what is asked then", async () => {
  const refuses = vi.fn(async () =>
    Response.json({ code: "permission_denied", message: "undeclared" }, { status: 403 }),
  );
  vi.stubGlobal("fetch", refuses);
  let asked: Promise<unknown> | undefined;
  const denied = vi.fn(() => {
    asked = api.identity.permissions({}).catch(() => undefined);
  });
  const api = createApi("http://127.0.0.1:1", undefined, denied);
  const refusal = await api.changes.list({}).catch((reason) => reason);
  expect(ConnectError.from(refusal).code).toBe(Code.PermissionDenied);
  await asked;
  expect([refuses.mock.calls.length, denied.mock.calls.length]).toEqual([2, 1]);
});
