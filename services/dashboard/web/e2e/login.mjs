// The whole program with logins, as a person meets it. flags are the fixture's, which takes no part.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { patience, until, withPage } from "./browser.mjs";

const laptop = { width: 1280, height: 800 };
const password = "correct horse battery";

/** A socket that listens, for a child: its address is known before the child starts. */
export async function socket() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, fd: server._handle.fd, close: () => server.close() };
}

/** Starts `millrace up` with logins on a socket, and gives the login link that it prints. */
export async function up(binary, folder, { port, fd, close }, identity = "") {
  mkdirSync(folder);
  writeFileSync(join(folder, "inventory.yaml"), "devices: []\n");
  const text = `data_dir: ${folder}\ninventory: inventory.yaml\nidentity:\n  mode: on\n  url: http://127.0.0.1:${port}\n${identity}flow: {listen: ["127.0.0.1:0"]}\n`;
  writeFileSync(join(folder, "millrace.yaml"), text);
  const child = spawn(binary, ["up", "--config", join(folder, "millrace.yaml"), "--listen-fd", "3"], {
    stdio: ["ignore", "pipe", "pipe", fd],
  });
  close();
  let log = "";
  child.stderr.on("data", (data) => {
    log += data;
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const link = /http:\S+#login=\S+/.exec(line)?.[0];
    if (link) return { link, url: new URL(link).origin, stop };
  }
  throw new Error(`millrace ended before it printed a link: ${log.slice(-2000)}`);
}

/** Calls IdentityService from the page, as the session's owner. */
const call = (page, method, message) =>
  page.evaluate(
    async ([m, body]) => {
      const answer = await fetch(`/millrace.identity.v1.IdentityService/${m}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: answer.status, ...(await answer.json()) };
    },
    [method, message],
  );

async function journey({ link, url }) {
  const role = (page, text) => until(text, page.locator(".who").getByText(text).waitFor());
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(url);
    await until("the form", page.getByRole("form", { name: "Log in" }).waitFor());
    await page.goto(link);
    await page.reload(); // a fragment alone is no navigation
    await role(page, "admin, admin");
    const freeze = page.getByRole("button", { name: "Freeze…" });
    await until("the switch", freeze.waitFor());
    if (!(await freeze.isEnabled())) throw new Error("an admin cannot press Freeze…");
    if (page.url().includes("mrl_")) throw new Error("the code stays in the address");
    const cookies = await page.context().cookies();
    if (cookies.length !== 1 || !cookies[0].httpOnly || cookies[0].sameSite !== "Strict")
      throw new Error(JSON.stringify(cookies));
    await call(page, "PutUser", { name: "ann", role: "ROLE_VIEWER" });
    const set = await call(page, "SetPassword", { name: "ann", new: password });
    if (set.status !== 200) throw new Error(JSON.stringify(set));
    await page.getByRole("link", { name: "Audit" }).click();
    const made = page.getByTestId("record").filter({ hasText: "IdentityService/PutUser" });
    await until("what an admin did", made.getByText("ok", { exact: true }).waitFor());
    const row = await made.innerText();
    if (!row.includes("admin") || !row.includes("ann") || !row.includes("127.0.0.1")) throw new Error(row);
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "audit.png") });
    await page.getByRole("searchbox", { name: "Who" }).fill("somebody else");
    await until("that nobody of that name did anything", page.getByText("No record.").waitFor());
    await page.getByRole("searchbox", { name: "Who" }).fill("ADMIN");
    await until("it again, whatever the case", made.waitFor());
    await page.getByRole("button", { name: "Log out" }).click();
    await until("the form again", page.getByRole("form", { name: "Log in" }).waitFor());
  });
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(link);
    await until("that the link was used", page.getByRole("alert").getByText("was used").waitFor());
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("Password").fill("wrong horse battery");
    await page.getByRole("button", { name: "Log in" }).click();
    await until("the refusal", page.getByRole("alert").getByText("no such name").waitFor());
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    await role(page, "ann, viewer");
    if ((await page.getByRole("link", { name: "Audit" }).count()) !== 0) throw new Error("a viewer has the audit page");
    const freeze = page.getByRole("button", { name: "Freeze…" });
    await until(
      "what a viewer lacks",
      page.getByTitle("Needs the role operator; you are viewer").and(freeze).waitFor(),
    );
    if (!(await freeze.isDisabled())) throw new Error("a viewer can press Freeze…");
    await page.goto(`${url}/?v=1&page=audit`);
    await until("why it is empty", page.getByText(/needs the role admin; ann is viewer/).waitFor());
    const refused = await call(page, "ListUsers", {});
    if (refused.code !== "permission_denied") throw new Error(JSON.stringify(refused));
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "login-in.png") });
    // Somebody ends the session elsewhere: the open page asks for a login at its next request.
    const ended = await call(page, "Logout", { everywhere: true });
    if (ended.ended !== 1) throw new Error(JSON.stringify(ended));
    await until("the form at the next poll", page.getByRole("alert").getByText("the login is over").waitFor());
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "login-out.png") });
  });
}

export const loginScenarios = [
  {
    name: "a login link works once, a password logs in, and a session that was ended is over in an open page too",
    flags: [],
    play: async (_, { scratch, run }) => {
      const binary = join(scratch, "millrace");
      await run("go", ["build", "-o", binary, "./cmd/millrace"]);
      const server = await up(binary, join(scratch, "up"), await socket());
      try {
        await journey(server);
      } finally {
        await server.stop();
      }
    },
  },
];
