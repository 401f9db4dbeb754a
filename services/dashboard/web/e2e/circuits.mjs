// What a researcher and an operator do with circuits. flags are the fixture's.
import { patience, until, withPage } from "./browser.mjs";

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

async function open(page, url, query = "") {
  page.setDefaultTimeout(patience);
  await page.goto(`${url}/?v=1&page=circuits${query}`);
  await until("the list", page.getByTestId("circuits").waitFor());
}

async function fill(page, rate) {
  const form = page.getByTestId("circuit-request");
  await form.getByLabel("Your name").fill("m.chen");
  await form.getByLabel("Project").fill("lhc");
  await form.getByLabel("From", { exact: true }).selectOption("wr");
  await form.getByLabel("To", { exact: true }).selectOption("er");
  await form.getByLabel("Rate").fill(rate);
  await form.getByLabel("Start").fill(fieldTime(2));
  await form.getByLabel("End").fill(fieldTime(8));
  return form;
}

const answer = (page, fits) => page.locator(`[data-testid="answer"][data-fits="${fits}"]`);

export const circuitScenarios = [
  {
    name: "circuits are listed, found, and one is shown with its path, window and timeline",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const rows = page.getByTestId("circuit");
        await until("four circuits", rows.nth(3).waitFor());
        await page.getByRole("button", { name: "Tonight" }).click();
        await until("how many begin and end", page.getByTestId("night").getByText("until").waitFor());
        await page.getByRole("button", { name: "Booked" }).click();
        await page.getByLabel("Search circuits").fill("climate active");
        await until("one of them", rows.nth(1).waitFor({ state: "detached" }));
        await rows.first().getByRole("button").click();
        check(page.url(), page.url().includes("&circuit=01a7c3f0-"));
        const detail = page.getByTestId("circuit-detail");
        for (const text of ["wr → er", "20.0 Mbit/s from wr to er", "192.0.2.0/24 → 198.51.100.0/24"])
          await until(text, detail.getByText(text).first().waitFor());
        await until("a reason", page.getByTestId("timeline").getByText("every router was read to have it").waitFor());
        await until(
          "the path",
          page.locator('[data-testid="circuit-map"] path.lsp.active').waitFor({ state: "attached" }),
        );
        await detail.getByRole("button", { name: "Release" }).click();
        await page.getByLabel("Your name").fill("a.rossi");
        await page.getByLabel("Note").fill("no longer needed");
        await page.getByRole("button", { name: "Yes, release" }).click();
        await until("the end", page.locator('[data-circuit][data-state="CANCELLED"]').waitFor());
        await until("why", page.getByTestId("timeline").getByText("by a.rossi: no longer needed").waitFor());
        await detail.getByRole("button", { name: "Close circuit" }).click();
        await until("the form", page.getByTestId("circuit-request").waitFor());
        await page.getByLabel("Search circuits").fill("");
        await page.getByRole("button", { name: "Over" }).click();
        await until(
          "it among those that are over",
          page.locator('[data-testid="circuit"][data-state="CANCELLED"]').waitFor(),
        );
      });
    },
  },
  {
    name: "a circuit that is kept off routers says so, and is let onto them",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await page.getByLabel("Search circuits").fill("kept off");
        const row = page.getByTestId("circuit");
        await until("no other circuit", row.nth(1).waitFor({ state: "detached" }));
        await row.first().getByRole("button").click();
        const detail = page.getByTestId("circuit-detail");
        await until("what that means", detail.getByText("it is kept off routers until").waitFor());
        await detail.getByRole("button", { name: "Activate" }).click();
        await page.getByLabel("Your name").fill("m.chen");
        await page.getByRole("button", { name: "Yes, activate" }).click();
        await until(
          "it is not any more",
          detail.getByText("it is kept off routers until").waitFor({ state: "detached" }),
        );
        await until(
          "nothing to activate",
          detail.getByRole("button", { name: "Activate" }).waitFor({ state: "detached" }),
        );
      });
    },
  },
  {
    name: "a request that does not fit says what is in the way, and an offer that is taken is booked",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const form = await fill(page, "10");
        await until("that it fits", answer(page, true).getByText("10.0 Mbit/s").waitFor());
        await form.getByLabel("Rate").fill("45");
        const refused = answer(page, false);
        await until("that it does not", refused.getByText("Does not fit: links lack room.").waitFor());
        await until(
          "a blocker",
          refused.getByTestId("blocker").filter({ hasText: "wr → er lacks 40.0 Mbit/s" }).waitFor(),
        );
        check("it can be booked", await form.getByRole("button", { name: "Book" }).isDisabled());
        await refused.locator('[data-kind="LESS_RATE"]').getByRole("button", { name: "Take" }).click();
        await until("that the offer fits", answer(page, true).getByText("35.0 Mbit/s").waitFor());
        check("the form has another rate", (await form.getByLabel("Rate").inputValue()) === "35");
        await form.getByRole("button", { name: "Book" }).click();
        await until("the circuit", page.locator('[data-circuit][data-state="COMMITTED"]').first().waitFor());
        await until("who asked", page.getByTestId("timeline").getByText("by m.chen").first().waitFor());
      });
    },
  },
  {
    name: "a path that is wanted is shown, or what would make one, and a window comes again each day",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const form = await fill(page, "1");
        await until("the short path", answer(page, true).getByText("over wr → er").waitFor());
        await form.getByText("More: the path").click();
        await form.getByLabel("Via (routers in order)", { exact: true }).fill("cr");
        await until("the path by cr", answer(page, true).getByText("over wr → cr → er").waitFor());
        await form.getByLabel("Links (at most)").fill("1");
        const refused = answer(page, false);
        await until(
          "what would make one",
          refused.locator('[data-field="max_hops"]').getByText("1 link more").waitFor(),
        );
        check("it can be booked", await form.getByRole("button", { name: "Book" }).isDisabled());
        await form.getByLabel("Links (at most)").fill("2");
        await form.getByLabel("Again").selectOption("every day");
        await form.getByLabel("Times").fill("3");
        await until("all of them", answer(page, true).getByText("all 3 times").waitFor());
        await form.getByRole("button", { name: "Book" }).click();
        await until("the first", page.locator('article[data-state="COMMITTED"]').waitFor());
        await page.getByLabel("Search circuits").fill("lhc committed");
        await until("the third", page.getByTestId("circuit").nth(2).waitFor());
      });
    },
  },
  {
    name: "a volume that no path carries is booked over two",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const form = await fill(page, "1");
        await form.getByLabel("What").selectOption("Volume by a deadline");
        await form.getByLabel("At most (empty: any rate)").fill("");
        await form.getByLabel("Volume", { exact: true }).fill("100");
        await until("that one is not enough", answer(page, false).getByTestId("blocker").first().waitFor());
        await form.getByText("Protection, priority, traffic").click();
        await form.getByLabel("Traffic").fill("192.0.2.0/24 198.51.100.0/24 tcp any 5000-5009");
        await form.getByLabel("Paths (at most").selectOption("2");
        const parts = answer(page, true).getByTestId("part");
        await until("the second part", parts.nth(1).getByText("to port 5009").waitFor());
        check("there are others than two", (await parts.count()) === 2);
        await form.getByRole("button", { name: "Book" }).click();
        await until("the first", page.locator('article[data-state="COMMITTED"]').waitFor());
        await page.getByLabel("Search circuits").fill("lhc committed");
        await until("the second", page.getByTestId("circuit").nth(1).waitFor());
      });
    },
  },
  {
    name: "rate, end and path of a circuit are changed, and what does not fit is said before",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await page.getByLabel("Search circuits").fill("detector");
        await page.getByTestId("circuit").first().getByRole("button").click();
        const detail = page.getByTestId("circuit-detail");
        await detail.getByRole("button", { name: "Change rate or end…" }).click();
        const size = page.getByTestId("circuit-size");
        await size.getByLabel("Your name").fill("m.chen");
        await until("that nothing changes", size.getByText("Nothing is changed.").waitFor());
        await size.getByLabel("Rate").fill("60");
        await until("what lacks", answer(page, false).getByTestId("blocker").first().waitFor());
        const change = size.getByRole("button", { name: "Change rate and end" });
        check("it can be changed", await change.isDisabled());
        await size.getByLabel("Rate").fill("12.5");
        await size.getByLabel("End").fill("");
        await until("that it fits", answer(page, true).getByText("12.5 Mbit/s").waitFor());
        await size.getByLabel("Note").fill("half the detector");
        await change.click();
        await until("the new rate", detail.getByText("12.5 Mbit/s from wr to er").first().waitFor());
        await until("why", page.getByTestId("timeline").getByText("half the detector").waitFor());
        await detail.getByRole("button", { name: "Change path…" }).click();
        const path = page.getByTestId("circuit-path");
        await path.getByLabel("Via (routers in order)", { exact: true }).fill("cr");
        await until("the other path", answer(page, true).getByText("over wr → cr → er").waitFor());
        await path.getByRole("button", { name: "Change path" }).click();
        await until("that it is wanted", detail.getByText("via cr").first().waitFor());
      });
    },
  },
  {
    name: "what a project might request is booked with one click",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const form = page.getByTestId("circuit-request");
        await form.getByLabel("Project").fill("climate");
        const proposal = form.getByTestId("proposal");
        await until("the proposal", proposal.getByText("cr to wr, 12.0 Mbit/s").waitFor());
        const book = proposal.getByRole("button", { name: "Book" });
        check("nobody can book it", await book.isDisabled());
        await form.getByLabel("Your name").fill("a.rossi");
        await proposal.getByRole("button", { name: "Fill in" }).click();
        check("the form has its rate", (await form.getByLabel("Rate").inputValue()) === "12");
        await until("that it fits", answer(page, true).getByText("over cr → wr").waitFor());
        await book.click();
        await until("the circuit", page.locator('article[data-state="COMMITTED"]').waitFor());
        await until("who asked", page.getByTestId("timeline").getByText("by a.rossi").first().waitFor());
      });
    },
  },
  {
    name: "what is held is committed, and a project that is not one's own is refused",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        const form = await fill(page, "1");
        await form.getByLabel("Project").fill("chess");
        await until("the refusal", answer(page, false).getByText("m.chen is no member of a project chess").waitFor());
        await form.getByLabel("Project").fill("climate");
        await form.getByLabel("Start").fill("");
        await form.getByLabel("End").fill(fieldTime(-5));
        await until("what is wrong", answer(page, false).getByText("The request is not right.").waitFor());
        await form.getByLabel("End").fill(fieldTime(8));
        await until("that it fits", answer(page, true).waitFor());
        await form.getByRole("button", { name: "Hold" }).click();
        await until(
          "the hold",
          page
            .locator('article[data-state="HELD"]')
            .getByText(/expires in/)
            .waitFor(),
        );
        await page.getByTestId("circuit-detail").getByRole("button", { name: "Commit" }).click();
        check("the name is not kept", (await page.getByLabel("Your name").inputValue()) === "m.chen");
        await page.getByRole("button", { name: "Yes, commit" }).click();
        await until("the booking", page.locator('article[data-state="COMMITTED"]').waitFor());
      });
    },
  },
  {
    name: "the calendar has a strip for each link with something booked, and lists a link's circuits",
    flags: [],
    play: async ({ url }) => {
      for (const size of [laptop, { width: 480, height: 900 }]) {
        await withPage(size, async (page) => {
          await open(page, url);
          const strips = page.getByTestId("strip");
          await until("the strips", strips.nth(3).waitFor());
          await until("what is booked", strips.first().locator(".bar").first().waitFor({ state: "attached" }));
          await strips.first().getByRole("button").click();
          await until("the filter", page.getByText(/only those over wr → er/).waitFor());
          await until("its circuits alone", page.getByTestId("circuit").nth(2).waitFor({ state: "detached" }));
          await page.getByRole("button", { name: "7 d" }).click();
          await until("the week", page.getByRole("button", { name: "7 d", pressed: true }).waitFor());
          const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
          check(`${size.width}: the page scrolls sideways`, !wide);
        });
      }
    },
  },
  {
    name: "without circuits the page says what to do next",
    flags: ["--empty"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        for (const text of ["No circuits.", "No link is known.", "Who requests it?"])
          await until(text, page.getByText(text).waitFor());
      });
    },
  },
];
