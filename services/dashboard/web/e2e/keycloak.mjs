// Log-in by Keycloak, whose forms differ from those of the other provider (provider.mjs): keycloak.mjs --url URL.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { patience, until, withPage } from "./browser.mjs";

const { url } = parseArgs({ options: { url: { type: "string" } } }).values;
const shot = async (page, name) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
};

await withPage({ width: 1280, height: 800 }, async (page) => {
  page.setDefaultTimeout(patience);
  let back;
  page.on("request", (r) => {
    if (r.url().startsWith(`${url}/?`) && r.url().includes("code=")) back = r.url();
  });
  await page.goto(`${url}/?v=1&page=circuits`);
  await page.getByRole("button", { name: "Log in by Keycloak" }).click();
  await until("Keycloak's form", page.locator("#kc-login").waitFor());
  await shot(page, "keycloak-form");
  await page.locator("#username").fill("ann");
  await page.locator("#password").fill("any");
  await page.locator("#kc-login").click();
  await until("the role of the groups", page.locator(".who").getByText("ann, approver").waitFor());
  await shot(page, "keycloak-in");
  if (page.url() !== `${url}/?v=1&page=circuits`) throw new Error(`after the login the page is ${page.url()}`);
  const ours = (await page.context().cookies(url)).filter((c) => c.name === "millrace");
  if (ours.length !== 1 || !ours[0].httpOnly || ours[0].sameSite !== "Strict") throw new Error(JSON.stringify(ours));
  await page.getByRole("button", { name: "Log out" }).click();
  await until("the form again", page.getByRole("form", { name: "Log in" }).waitFor());
  await page.goto(back);
  await until("the refusal", page.getByRole("alert").getByText("did not begin in this browser").waitFor());
});
