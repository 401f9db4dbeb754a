// Log-in by an OpenID provider: the whole program, and a real provider. flags are the fixture's, which takes no part.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { patience, until, withPage } from "./browser.mjs";
import { socket, up } from "./login.mjs";

const laptop = { width: 1280, height: 800 };
const modules = process.env.MILLRACE_OIDC ?? fileURLToPath(new URL("../../../../.cache/oidc", import.meta.url));

const people = {
  "s-ann": { preferred_username: "ann", groups: ["noc", "noc-approvers"] },
  "s-eve": { preferred_username: "eve", groups: ["staff"] },
};

/** Starts the provider (tools/oidc), whose client is a control plane at a URL. */
async function provider(folder, redirect) {
  mkdirSync(folder);
  const [secret, who, config] = ["secret", "people.json", "config.json"].map((name) => join(folder, name));
  writeFileSync(secret, "a secret of the client\n", { mode: 0o600 });
  writeFileSync(who, JSON.stringify(people));
  writeFileSync(
    config,
    JSON.stringify({
      port: 0,
      client: "millrace",
      secret: "a secret of the client",
      redirects: [redirect],
      people: who,
    }),
  );
  const child = spawn("node", [join(modules, "provider.mjs"), config], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  for await (const issuer of createInterface({ input: child.stdout })) return { issuer, secret, stop };
  throw new Error("the OpenID provider ended before it listened");
}

/** Goes to the provider, and fills its forms in. */
async function signIn(page, person) {
  await page.getByRole("button", { name: "Log in by the NOC's sign-on" }).click();
  await until("the provider's form", page.locator("input[name=login]").waitFor());
  await page.locator("input[name=login]").fill(person);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await until("the provider's question", page.getByRole("button", { name: "Continue" }).waitFor());
  await page.getByRole("button", { name: "Continue" }).click();
}

async function ann(url) {
  let back;
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    page.on("request", (r) => {
      if (r.url().startsWith(`${url}/?`) && r.url().includes("code=")) back = r.url();
    });
    await page.goto(`${url}/?v=1&page=circuits`);
    await until("the button", page.getByRole("button", { name: "Log in by the NOC's sign-on" }).waitFor());
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "provider-out.png") });
    await signIn(page, "s-ann");
    await until("the role of the groups", page.locator(".who").getByText("ann, approver").waitFor());
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "provider-in.png") });
    if (page.url() !== `${url}/?v=1&page=circuits`) throw new Error(`after the login the page is ${page.url()}`);
    const ours = (await page.context().cookies()).filter((c) => c.name === "millrace");
    if (ours.length !== 1 || !ours[0].httpOnly || ours[0].sameSite !== "Strict") throw new Error(JSON.stringify(ours));
    const left = await page.evaluate(() => sessionStorage.length);
    if (left !== 0) throw new Error("the login stays in the tab");
    // Who sends somebody the answer of a login does not log that person in, and not a second time either.
    await page.getByRole("button", { name: "Log out" }).click();
    await until("the form again", page.getByRole("form", { name: "Log in" }).waitFor());
    await page.goto(back);
    await until("the refusal", page.getByRole("alert").getByText("did not begin in this browser").waitFor());
    if (page.url().includes("code=")) throw new Error("the code stays in the address");
  });
}

async function others(url) {
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(url);
    await signIn(page, "s-eve");
    await until("that no group has a role", page.getByRole("alert").getByText("in none of the groups").waitFor());
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "provider-no-group.png") });
  });
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(url);
    await page.getByRole("button", { name: "Log in by the NOC's sign-on" }).click();
    await page.getByRole("link", { name: /cancel/i }).click();
    await until("that the provider refused", page.getByRole("alert").getByText("access_denied").waitFor());
  });
}

export const providerScenarios = [
  {
    name: "an OpenID provider logs people in by their groups, once for each answer, and the page is where it was",
    flags: [],
    play: async (_, { scratch, run }) => {
      const binary = join(scratch, "millrace");
      await run("go", ["build", "-o", binary, "./cmd/millrace"]);
      const at = await socket();
      const url = `http://127.0.0.1:${at.port}`;
      const idp = await provider(join(scratch, "provider"), `${url}/`);
      try {
        const oidc = `  oidc:\n    issuer: ${idp.issuer}\n    title: the NOC's sign-on\n    client_id: millrace\n    client_secret_file: ${idp.secret}\n    scopes: [openid, profile, groups, offline_access]\n    roles: {noc: viewer, noc-approvers: approver}\n`;
        const server = await up(binary, join(scratch, "up-provider"), at, oidc);
        try {
          await ann(server.url);
          await others(server.url);
        } finally {
          await server.stop();
        }
      } finally {
        await idp.stop();
      }
    },
  },
];
