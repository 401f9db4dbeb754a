// What a researcher, an operator of circuits and a viewer do on the page of circuits of the whole program, with logins.
// e2e/page starts it, with three routers wr, er and cr: each joined to each by 100 Mbit/s, of which circuits may use 50,
// and what an operator commits 80.
//
//   node e2e/maintain.mjs --link 'http://127.0.0.1:8080/#login=…'
import { join } from "node:path";
import { parseArgs } from "node:util";
import { patience, until, withPage } from "./browser.mjs";

const { values: options } = parseArgs({ options: { link: { type: "string" } } });
const url = new URL(options.link).origin;
const password = "correct horse battery";
const laptop = { width: 1280, height: 800 };

function check(what, ok) {
  if (!ok) throw new Error(what);
}

/** The full hour some hours from now, as a field of a form has it. */
function fieldTime(hours) {
  const at = new Date(Date.now() + hours * 3_600_000);
  const pad = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:00`;
}

const shot = async (page, name) => {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
};

/** The first person, by the link, gives the others their roles. */
async function people() {
  await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(options.link);
    await until("the admin", page.locator(".who").getByText("admin, admin").waitFor());
    const call = (method, body) =>
      page.evaluate(
        async ([m, b]) =>
          (
            await fetch(`/millrace.identity.v1.IdentityService/${m}`, {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify(b),
            })
          ).status,
        [method, body],
      );
    for (const [name, role] of [
      ["ann", "ROLE_OPERATOR"],
      ["noc", "ROLE_OPERATOR"],
      ["eve", "ROLE_VIEWER"],
    ]) {
      check(`${name} has no role`, (await call("PutUser", { name, role })) === 200);
      check(`${name} has no password`, (await call("SetPassword", { name, new: password })) === 200);
    }
  });
}

/** Somebody, logged in, on the page of circuits. */
async function as(name, query, work) {
  return await withPage(laptop, async (page) => {
    page.setDefaultTimeout(patience);
    await page.goto(`${url}/?v=1&page=circuits${query}`);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    await until(`${name}'s page`, page.getByTestId("maintenance").waitFor());
    return await work(page);
  });
}

const answer = (page, fits) => page.locator(`[data-testid="answer"][data-fits="${fits}"]`);
const detail = (page) => page.getByTestId("circuit-detail");
const circuitOf = (page) => new URL(page.url()).searchParams.get("circuit");
const pathOf = (page, text) => page.getByTestId("circuit-facts").getByText(text, { exact: true }).first();

/** The form, filled in but for what the path is to be like. */
async function ask(page, rate) {
  const form = page.getByTestId("circuit-request");
  await form.getByLabel("Project").fill("astro");
  await until(
    "the routers",
    form.getByLabel("From", { exact: true }).locator("option").nth(3).waitFor({ state: "attached" }),
  );
  await form.getByLabel("From", { exact: true }).selectOption("wr");
  await form.getByLabel("To", { exact: true }).selectOption("er");
  await form.getByLabel("Rate").fill(rate);
  await form.getByLabel("Start").fill(fieldTime(2));
  await form.getByLabel("End").fill(fieldTime(8));
  return form;
}

/** Links to exclude, and a circuit to be apart from; what the service finds wrong is at its field. */
async function paths(page) {
  let form = await ask(page, "30");
  await until("the short path", answer(page, true).getByText("over wr → er").waitFor());
  await form.getByRole("button", { name: "Book", exact: true }).click();
  await until("the first circuit", page.locator('article[data-state="SCHEDULED"]').waitFor());
  const first = circuitOf(page);
  await page.getByRole("button", { name: "Close circuit" }).click();
  form = await ask(page, "10");
  await form.getByText("More: the path").click();
  await form.getByLabel("Apart from").selectOption(first);
  await until("a path apart from it", answer(page, true).getByText("over wr → cr → er").waitFor());
  await form.getByLabel("Not over").selectOption({ label: "wr → cr" });
  const none = answer(page, false);
  await until("why there is none", none.getByText("No path").first().waitFor());
  await until("which constraint", none.getByTestId("relaxation").getByText("with wr → er allowed").waitFor());
  await form.getByRole("button", { name: "Not wr → cr" }).click();
  await until("it again", answer(page, true).getByText("over wr → cr → er").waitFor());
  const via = form.locator(".field", { hasText: "Via (routers in order)" }).first();
  await via.locator("input").fill("pe9");
  await until("the service's words at the field", via.getByRole("status").getByText("pe9").waitFor());
  await via.locator("input").fill("");
  await until("that it fits", answer(page, true).waitFor());
  await shot(page, "circuit-form");
  await form.getByRole("button", { name: "Book", exact: true }).click();
  await until("the second circuit", page.locator('article[data-state="SCHEDULED"]').waitFor());
  await until("what it is apart from", page.getByTestId("circuit-facts").getByText(first).waitFor());
  return first;
}

/** The path of a circuit that is booked is another one, and then the first again. */
async function move(page, first) {
  await page.goto(`${url}/?v=1&page=circuits&circuit=${first}`);
  await until("its path", pathOf(page, "wr → er").waitFor());
  await detail(page).getByRole("button", { name: "Change path" }).click();
  const form = page.getByTestId("circuit-path");
  const send = form.getByRole("button", { name: "Change path" });
  await until("that nothing is changed", form.getByText("Nothing is changed.").waitFor());
  check("nothing can be sent", await send.isDisabled());
  await form.getByLabel("Links (at most)").fill("256");
  await until("what is wrong", form.locator(".field").getByText("Write a number from 1 to 255.").waitFor());
  await form.getByLabel("Links (at most)").fill("");
  await form.getByLabel("Not over").selectOption({ label: "wr → er" });
  await until("the path that it would get", answer(page, true).getByText("over wr → cr → er").waitFor());
  await shot(page, "circuit-path");
  await form.getByLabel("Note").fill("fibre work");
  await send.click();
  await until("its other path", pathOf(page, "wr → cr → er").waitFor());
  await until("why", page.getByTestId("timeline").getByText("fibre work").waitFor());
  await detail(page).getByRole("button", { name: "Change path" }).click();
  await form.getByRole("button", { name: "Not wr → er" }).click();
  await until("the first path", answer(page, true).getByText("over wr → er").waitFor());
  await send.click();
  await until("it", pathOf(page, "wr → er").waitFor());
}

async function plan(page) {
  await page.getByTestId("maintenance").getByRole("button", { name: "Plan…" }).click();
  const form = page.getByTestId("maintenance-plan");
  await form.getByLabel("Id (such as a ticket's)").fill("CHG-1042");
  await form.getByLabel("Links (out in both directions)").selectOption({ label: "wr – er" });
  await form.getByLabel("Start").fill(fieldTime(3));
  await form.getByLabel("End").fill(fieldTime(4));
  await form.getByLabel("Reason").fill("new optics");
  return form;
}

/** Who is no operator of circuits plans nothing. */
async function planRefused(page) {
  const form = await plan(page);
  await until("the refusal", form.getByTestId("plan-refused").getByText('"ann" is no operator').waitFor());
  check("it can be planned", await form.getByRole("button", { name: "Plan it" }).isDisabled());
  await form.getByRole("button", { name: "Cancel" }).click();
  await until("the form of requests", page.getByTestId("circuit-request").waitFor());
}

/** Maintenance is planned, the circuit in its way moves, and it is removed. */
async function maintain(page, first) {
  const form = await plan(page);
  const hit = form.locator(`[data-testid="hit"][data-circuit="${first}"]`);
  await until("what it would hit", form.getByText("It hits 1 circuit.").waitFor());
  await until("where that would go", hit.getByText("to wr → cr → er").waitFor());
  await shot(page, "maintenance-plan");
  await form.getByRole("button", { name: "Plan it" }).click();
  const one = page.getByTestId("maintenance-detail");
  await until("it", one.locator('[data-state="planned"]').waitFor());
  check("it is in the address", page.url().includes("maintenance=CHG-1042"));
  await until("that nothing is in its way", one.getByText("It hits no circuit.").waitFor());
  await shot(page, "maintenance");
  const row = page.locator('[data-maintenance="CHG-1042"][data-testid="maintenance-row"]');
  await until("what is out", row.getByText("wr – er").waitFor());
  await page.goto(`${url}/?v=1&page=circuits&circuit=${first}`);
  await until("the path that it moved to", pathOf(page, "wr → cr → er").waitFor());
  await row.getByRole("button").click();
  await one.getByRole("button", { name: "Remove" }).click();
  await page.getByLabel("Note").fill("done early");
  await page.getByRole("button", { name: "Yes, remove" }).click();
  await until("that it is removed", one.locator('[data-state="removed"]').waitFor());
  await until("by whom and why", one.getByText("done early").waitFor());
  await until("an empty list", page.getByText("No maintenance is planned.").waitFor());
  await page.getByTestId("maintenance").getByRole("button", { name: "All" }).click();
  await until("it among all", row.getByText("removed").waitFor());
}

/** What needs what operators keep is held, and not booked by who is none. */
async function hold(page) {
  const form = await ask(page, "60");
  const offer = answer(page, false).locator('[data-kind="ABOVE_SOFT_CAP"]');
  await until("the offer", offer.getByText("an operator of circuits commits it").waitFor());
  await offer.getByRole("button", { name: "Take" }).click();
  await until("that it fits", answer(page, true).getByText("60.0 Mbit/s").waitFor());
  await form.getByRole("button", { name: "Book as operator" }).click();
  await until("the refusal", form.getByRole("alert").getByText("hold it, and let one commit it").waitFor());
  await form.getByRole("button", { name: "Hold" }).click();
  await until("the hold", page.locator('article[data-state="HELD"]').waitFor());
  await until("who commits it", page.getByTestId("needs-operator").waitFor());
  await detail(page).getByRole("button", { name: "Commit as operator" }).click();
  await page.getByRole("button", { name: "Yes, commit" }).click();
  await until("that ann may not", page.getByTestId("confirm").getByText("committed by an operator").waitFor());
  await shot(page, "soft-cap");
  return circuitOf(page);
}

await people();
const [first, held] = await as("ann", "", async (page) => {
  const booked = await paths(page);
  await move(page, booked);
  await page.getByRole("button", { name: "Close circuit" }).click();
  await planRefused(page);
  return [booked, await hold(page)];
});
await as("noc", `&circuit=${held}`, async (page) => {
  await detail(page).getByRole("button", { name: "Commit as operator" }).click();
  await page.getByRole("button", { name: "Yes, commit" }).click();
  await until("the booking", page.locator('article[data-state="SCHEDULED"]').waitFor());
  await detail(page).getByRole("button", { name: "Release" }).click();
  await page.getByRole("button", { name: "Yes, release" }).click();
  await until("its end", page.locator('article[data-state="CANCELLED"]').waitFor());
  await page.getByRole("button", { name: "Close circuit" }).click();
  await maintain(page, first);
});
await as("eve", `&circuit=${first}`, async (page) => {
  await until("its path", pathOf(page, "wr → cr → er").waitFor());
  for (const name of ["Release", "Change path…", "Reoptimise", "Commit", "Plan…"])
    check(`a viewer has ${name}`, (await page.getByRole("button", { name, exact: true }).count()) === 0);
  await page.getByRole("button", { name: "Close circuit" }).click();
  await until("why", page.getByTestId("circuit-request").getByText("A request needs the role operator.").waitFor());
  await page.getByTestId("maintenance").getByRole("button", { name: "All" }).click();
  await page.getByRole("button", { name: "CHG-1042" }).click();
  await until("what was planned", page.getByTestId("maintenance-detail").getByText("new optics").first().waitFor());
});
