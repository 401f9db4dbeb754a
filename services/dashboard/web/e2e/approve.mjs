// Approves the planned change set on the dashboard, as an operator would.
//
//   node e2e/approve.mjs --url http://127.0.0.1:8080 --out DIR [--by NAME] [--note TEXT]
//     [--change ID] [--timeout SECONDS] [--width 1280] [--height 800] [--dark]
//   node e2e/approve.mjs --link 'http://127.0.0.1:8080/#login=…' …    (in place of --url: logs in first)
//   node e2e/approve.mjs --url … --out DIR --screenshot NAME [--query '?v=1&view=table']
//
// Writes DIR/dashboard-planned.png and DIR/dashboard-verified.png and prints
// {change, approvedAt, verifiedAt} as JSON; the second form only writes
// DIR/NAME.png. Exit status 1 with one line on stderr when it cannot.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { until, withPage } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    link: { type: "string", default: "" },
    url: { type: "string", default: "http://127.0.0.1:8080" },
    out: { type: "string", default: "." },
    by: { type: "string", default: "operator" },
    note: { type: "string", default: "" },
    change: { type: "string" },
    timeout: { type: "string", default: "120" },
    width: { type: "string", default: "1280" },
    height: { type: "string", default: "800" },
    dark: { type: "boolean", default: false },
    screenshot: { type: "string" },
    query: { type: "string", default: "" },
    "full-page": { type: "boolean", default: false },
  },
});

const timeout = Number(options.timeout) * 1000;

/** States from which a change set does not come back by itself. */
const ends = ["VERIFIED", "FAILED", "ROLLED_BACK"];

const base = options.link ? new URL(options.link).origin : options.url;

async function open(page) {
  page.setDefaultTimeout(timeout);
  if (options.link) {
    await until(`the dashboard on ${base}`, page.goto(options.link));
    await until("the login", page.locator(".who").waitFor());
  }
  await until(`the dashboard on ${base}`, page.goto(`${base}/${options.query}`));
  await until("the page", page.getByTestId("topology").waitFor());
}

const shot = (page, name) =>
  page.screenshot({ path: join(options.out, `${name}.png`), fullPage: options["full-page"] });

/** Gives loads and sparklines a moment to be drawn. */
const settle = (page) => page.waitForTimeout(2500);

async function screenshot(page) {
  await open(page);
  await settle(page);
  await shot(page, options.screenshot);
  return { screenshot: join(options.out, `${options.screenshot}.png`) };
}

async function approve(page) {
  await open(page);
  await until("routers on the map", page.locator('[data-testid^="router-"]').first().waitFor());
  const id = options.change ? `[data-change="${options.change}"]` : "";
  const row = page.locator(`[data-testid="change-row"][data-state="PLANNED"]${id}`).first();
  await until("a planned change set", row.waitFor());
  const change = await row.getAttribute("data-change");
  await row.click();
  const detail = page.locator(`[data-testid="change-detail"][data-change="${change}"]`);
  await until(`the details of ${change}`, detail.waitFor());
  await settle(page);
  await shot(page, "dashboard-planned");
  await detail.getByRole("button", { name: "Approve and apply" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Your name").fill(options.by);
  if (options.note) await dialog.getByLabel("Note").fill(options.note);
  const approvedAt = new Date().toISOString();
  await dialog.getByRole("button", { name: "Yes, approve and apply" }).click();
  const verifiedAt = await verified(page, detail, change);
  await settle(page);
  await shot(page, "dashboard-verified");
  return { change, approvedAt, verifiedAt };
}

async function verified(page, detail, change) {
  const refused = page.getByRole("dialog").getByRole("alert");
  const ended = page.locator(
    ends.map((s) => `[data-testid="change-detail"][data-change="${change}"][data-state="${s}"]`).join(","),
  );
  await until(`${change} to be verified`, ended.or(refused).first().waitFor());
  const at = new Date().toISOString();
  if (await refused.isVisible())
    throw new Error(`the approval of ${change} was refused: ${await refused.textContent()}`);
  const state = await detail.getAttribute("data-state");
  if (state !== "VERIFIED") {
    await shot(page, "dashboard-failed");
    const why = await detail.getByRole("alert").allInnerTexts();
    throw new Error(`${change} became ${state} instead of VERIFIED: ${why.join("; ") || "the page says no reason"}`);
  }
  return at;
}

const size = { width: Number(options.width), height: Number(options.height), dark: options.dark };
try {
  mkdirSync(options.out, { recursive: true });
  console.log(JSON.stringify(await withPage(size, options.screenshot ? screenshot : approve)));
} catch (error) {
  console.error(`approve.mjs: ${error.message}`);
  process.exitCode = 1;
}
