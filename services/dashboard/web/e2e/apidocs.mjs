// What a programmer does with the page of the REST API. flags are the fixture's.
import { patience, until, withPage } from "./browser.mjs";

const laptop = { width: 1280, height: 800 };

export const apidocsScenarios = [
  {
    name: "the REST API's page shows every call, tries one, and asks nobody but its own server",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        page.setDefaultTimeout(patience);
        const elsewhere = [];
        page.on("request", (r) => {
          if (!r.url().startsWith(url) && !r.url().startsWith("data:")) elsewhere.push(r.url());
        });
        await page.goto(`${url}/v1/docs`);
        await until("the calls", page.locator("#operations-default-Release").waitFor());
        const calls = await page.locator(".opblock").count();
        if (calls < 10) throw new Error(`only ${calls} calls are shown`);
        const list = page.locator("#operations-default-List");
        await list.locator(".opblock-summary-control").click();
        await list.locator('tr[data-param-name="project"] input').fill("climate");
        await list.getByRole("button", { name: "Execute" }).click();
        const answer = list.locator(".live-responses-table");
        await until("an answer", answer.getByText("200", { exact: true }).first().waitFor());
        await until("circuits", answer.getByText("Nightly copy of the climate archive").first().waitFor());
        await until("what was asked", list.getByText("/v1/circuits?project=climate").first().waitFor());
        if (elsewhere.length > 0) throw new Error(`it asked for ${elsewhere.join(", ")}`);
      });
    },
  },
];
