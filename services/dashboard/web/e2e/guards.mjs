// What an operator does with the guards: freezes, approvals by two persons, the canary router, the abort. flags are the fixture's.
import { inView, patience, until, withPage } from "./browser.mjs";

const laptop = { width: 1280, height: 800 };
const guarded = ["--guards", "--pace", "300ms"];

function check(what, ok) {
  if (!ok) throw new Error(what);
}

async function open(page, url) {
  page.setDefaultTimeout(patience);
  await page.goto(url);
  await until("the page", page.getByTestId("topology").waitFor());
}

const detail = (page, id, state) =>
  page.locator(`[data-testid="change-detail"][data-change="${id}"]${state ? `[data-state="${state}"]` : ""}`);

/** Answers the question that is open. */
async function answer(page, by, yes, note) {
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Your name").fill(by);
  if (note) await dialog.getByLabel(/^(Reason|Note)/).fill(note);
  await dialog.getByRole("button", { name: yes }).click();
  await until("the question to go away", dialog.waitFor({ state: "detached" }));
}

export const guardScenarios = [
  {
    name: "what known pairs caught is plotted, in all and on the day under the pointer",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const panel = page.getByTestId("pairs");
        await panel.getByRole("button", { name: "Caught" }).click();
        await until("all of it", panel.getByText("of 160 TB alpha in 40 days").waitFor());
        await until("the share", page.getByTestId("caught-24").getByText("94 %").waitFor());
        await until("that of hosts", page.getByTestId("caught-32").getByText("82 %").waitFor());
        const chart = panel.getByRole("img", { name: "94 % under /24" });
        await chart.hover({ position: { x: 300, y: 40 } });
        await until("a day", panel.getByText("of 4.00 TB alpha from").waitFor());
        await until(
          "its share",
          page
            .getByTestId("caught-24")
            .getByText(/9[05] %/)
            .waitFor(),
        );
      });
    },
  },
  {
    name: "a flow that is alpha now and that no pair has is an alarm, and one click redirects it",
    flags: ["--now"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const alarm = page.getByTestId("now");
        await until("the alarm", alarm.getByText("1 unidentified").waitFor());
        await until("the queues beside it", alarm.getByText("(te-beta 12.5 drops/s, packets wait 98 ms)").waitFor());
        const redirect = alarm.getByRole("button", { name: "Redirect now…" });
        check("the button is out of view", await inView(redirect));
        await redirect.click();
        await answer(page, "A. Operator", "Yes, redirect now");
        const row = page.locator('[data-testid="alpha-now"][data-state="to be redirected"]');
        await until("that it is about to be redirected", row.getByRole("button", { name: "c-now" }).waitFor());
        check("it can be redirected twice", (await alarm.getByRole("button", { name: /Redirect/ }).count()) === 0);
      });
    },
  },
  {
    name: "while nothing is alpha there is no alarm",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await until("the pairs", page.getByTestId("pair").first().waitFor());
        check("there is an alarm", (await page.getByTestId("now").count()) === 0);
      });
    },
  },
  {
    name: "routers are frozen and unfrozen, one and all, with who and why",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await page.getByRole("button", { name: "Freeze…" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("What").selectOption("cr");
        await dialog.getByLabel("Your name").fill("A. Operator");
        check("a freeze needs no reason", await dialog.getByRole("button", { name: "Yes, freeze" }).isDisabled());
        await answer(page, "A. Operator", "Yes, freeze", "line card");
        const one = page.locator('[data-testid="freeze"][data-router="cr"]');
        await until("who and why", one.getByText(/Router cr is frozen by A. Operator.*line card/).waitFor());
        await until("the mark", page.locator('[data-testid="router-cr"][data-frozen]').waitFor());
        check("er has it, too", (await page.locator('[data-testid="router-er"][data-frozen]').count()) === 0);
        await page.getByRole("button", { name: "Freeze…" }).click();
        check("cr can be frozen twice", (await dialog.getByRole("option", { name: "Router cr" }).count()) === 0);
        await answer(page, "A. Operator", "Yes, freeze", "night of the merger");
        const all = page.locator('[data-testid="freeze"][data-router=""]');
        await until("that all are frozen", all.waitFor());
        await until("the mark at er", page.locator('[data-testid="router-er"][data-frozen]').waitFor());
        await all.getByRole("button", { name: "Unfreeze" }).click();
        await answer(page, "A. Operator", "Yes, unfreeze");
        await until("the end of it", all.waitFor({ state: "detached" }));
        check("cr is free again", await one.isVisible());
      });
    },
  },
  {
    name: "a change set says who must approve it and who may not, and waits while a router is frozen",
    flags: guarded,
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        const change = detail(page, "cs-0042");
        for (const text of [
          "two persons, other than the author alpha nightly; 1 more needed",
          "agreed with the site",
          "it changes 31 config entries after 40 since noon, and the nightly budget is 60",
          "Router er is frozen by NOC night shift",
          "goes first",
        ])
          await until(text, change.getByText(text).first().waitFor());
        await change.getByRole("button", { name: "Approve and apply" }).click();
        const dialog = page.getByRole("dialog");
        const yes = dialog.getByRole("button", { name: "Yes, approve and apply" });
        for (const [by, why] of [
          ["Alpha Nightly", "Alpha Nightly asked for it, and somebody else must approve."],
          ["J.Ruiz", "J.Ruiz has approved it already"],
        ]) {
          await dialog.getByLabel("Your name").fill(by);
          await until(why, dialog.getByText(why).waitFor());
          check(`${by} may approve`, await yes.isDisabled());
        }
        await dialog.getByLabel("Your name").fill("m.chen");
        await yes.click();
        await until("the refusal", dialog.getByText(/router er is frozen by NOC night shift/).waitFor());
        await dialog.getByRole("button", { name: "Cancel" }).click();
        await page.locator('[data-change="cs-0039"]').first().click();
        const window = detail(page, "cs-0039").getByText(/maintenance window \(every day 02:00-04:00 UTC\) opens/);
        await until("the window", window.first().waitFor());
        await page.locator('[data-change="cs-0038"]').first().click();
        await until("the canary", page.locator('[data-testid="canary"][data-state="stopped"]').waitFor());
        await until("the figure", detail(page, "cs-0038").getByRole("alert").getByText("3.1 % of 40211").waitFor());
      });
    },
  },
  {
    name: "a change set that nobody wants is aborted before anything is sent",
    flags: guarded,
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        await detail(page, "cs-0042").getByRole("button", { name: "Abort" }).click();
        await until("what it means", page.getByRole("dialog").getByText("nothing was sent to a router").waitFor());
        await answer(page, "m.chen", "Yes, abort", "not tonight");
        await until("the state", detail(page, "cs-0042", "ABORTED").waitFor());
        const alert = detail(page, "cs-0042").getByRole("alert");
        await until("who did it and why", alert.getByText("Aborted by m.chen: not tonight").waitFor());
        const buttons = detail(page, "cs-0042").getByRole("button", { name: /Approve|Apply|Abort/ });
        check("it can still be approved, applied or aborted", (await buttons.count()) === 0);
      });
    },
  },
  {
    name: "the canary is watched with its counters, and one key held stops the change set",
    flags: [...guarded, "--watch", "1000000"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        await page.getByTestId("freeze").getByRole("button", { name: "Unfreeze" }).click();
        await answer(page, "m.chen", "Yes, unfreeze");
        await until("the end of the freeze", page.getByTestId("freeze").waitFor({ state: "detached" }));
        await detail(page, "cs-0042").getByRole("button", { name: "Approve and apply" }).click();
        await answer(page, "m.chen", "Yes, approve and apply");
        await until("the canary", page.locator('[data-testid="canary"][data-state="watched"]').waitFor());
        await until("its counters", page.getByTestId("canary-queue").first().waitFor());
        await until("the key", page.getByTestId("running").getByText("Hold A to abort it").waitFor());
        await page.keyboard.down("a");
        await until("the state", detail(page, "cs-0042", "ROLLED_BACK").waitFor());
        await page.keyboard.up("a");
        await until(
          "who did it",
          page
            .getByText(/aborted by m.chen/)
            .first()
            .waitFor(),
        );
      });
    },
  },
];
