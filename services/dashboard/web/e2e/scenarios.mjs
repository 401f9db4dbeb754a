// What an operator does on the page, one scenario each. flags are the fixture's.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inView, patience, until, withPage } from "./browser.mjs";

const fast = ["--pace", "200ms"];
const laptop = { width: 1280, height: 800 };

/** Runs approve.mjs as the demo does. */
const approve = (url, out) =>
  promisify(execFile)(process.execPath, [
    fileURLToPath(new URL("approve.mjs", import.meta.url)),
    ...[
      "--url",
      url,
      "--out",
      out,
      "--by",
      "A. Operator",
      "--note",
      "seen and agreed",
      "--timeout",
      String(patience / 1000),
    ],
  ]);

function check(what, ok) {
  if (!ok) throw new Error(what);
}

async function open(page, url) {
  page.setDefaultTimeout(patience);
  await page.goto(url);
  await until("the page", page.getByTestId("topology").waitFor());
}

/** Elements whose boxes overlap though they should stand apart, by their text. */
function overlaps(page, selector) {
  return page.locator(selector).evaluateAll((list) => {
    const boxes = list.map((e) => [e.textContent, e.getBoundingClientRect()]);
    const out = [];
    for (const [i, [a, p]] of boxes.entries()) {
      for (const [b, q] of boxes.slice(i + 1)) {
        if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom) out.push(`${a} over ${b}`);
      }
    }
    return out;
  });
}

export const scenarios = [
  {
    name: "a planned change set is approved and becomes verified",
    flags: fast,
    play: async ({ url }, { scratch }) => {
      const { stdout } = await approve(url, scratch);
      const told = JSON.parse(stdout);
      check(`printed ${stdout}`, told.change === "cs-0042" && told.approvedAt < told.verifiedAt);
      for (const shot of ["planned", "verified"])
        check(`no ${shot} screenshot`, existsSync(join(scratch, `dashboard-${shot}.png`)));
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        await page.getByText("History (").click();
        await until("who approved, and the note", page.getByText("by A. Operator: seen and agreed").waitFor());
        await until("the LSP in force", page.locator('[data-testid="lsp"][data-status="active"]').waitFor());
      });
    },
  },
  {
    name: "a refused change set says which router refused and why",
    flags: [...fast, "--refuse"],
    play: async ({ url }, { scratch }) => {
      const error = await approve(url, scratch).then(
        () => "",
        (e) => e.stderr,
      );
      check(
        `approve.mjs said ${error || "nothing"}`,
        /became ROLLED_BACK.*cr: refused: .*this platform has one queue/.test(error),
      );
    },
  },
  {
    name: "a router that differs from what its change set left is marked, with the difference",
    flags: [...fast, "--drift"],
    play: async ({ url }, { scratch }) => {
      await approve(url, scratch);
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        await until(
          "the sign at the router",
          page.locator('[data-testid="router-wr"][data-drift="cs-0042"]').waitFor(),
        );
        check("er has the sign, too", (await page.locator('[data-testid="router-er"][data-drift]').count()) === 0);
        await until("the line below the map", page.getByTestId("legend-drift-wr").waitFor());
        await page.getByTestId("drift-wr").locator("summary").first().click();
        await until("the difference", page.getByTestId("drift-wr").getByText('{"name": "te-alpha"}').waitFor());
      });
    },
  },
  {
    name: "a verified change set is rolled back after a question",
    flags: fast,
    play: async ({ url }, { scratch }) => {
      await approve(url, scratch);
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        const back = page.getByRole("button", { name: "Roll back", exact: true });
        await back.click();
        await page.keyboard.press("Escape");
        await until("the question to go away", page.getByRole("dialog").waitFor({ state: "detached" }));
        await back.click();
        const yes = page.getByRole("dialog").getByRole("button", { name: "Yes, roll back" });
        check("a rollback needs no name", await yes.isDisabled());
        await page.getByLabel("Your name").fill("A. Operator");
        await yes.click();
        await until("the state", page.locator('[data-testid="change-detail"][data-state="ROLLED_BACK"]').waitFor());
        await until("the LSP to leave the map", page.getByTestId("lsp").waitFor({ state: "detached" }));
      });
    },
  },
  {
    name: "nothing on the map overlaps, on a small and a large screen",
    flags: [],
    play: async ({ url }) => {
      for (const [width, height] of [
        [1280, 800],
        [1600, 1000],
        [480, 900],
      ]) {
        await withPage({ width, height }, async (page) => {
          await open(page, `${url}/?v=1&change=cs-0042`);
          await until("a load", page.locator(".map .direction.high").first().waitFor({ state: "attached" }));
          const found = await overlaps(page, ".map .router, .map .edge-label, .map .hot");
          check(`${width}x${height}: ${found.join("; ")}`, found.length === 0);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
          check(`${width}x${height}: the page scrolls sideways`, !wide);
        });
      }
    },
  },
  {
    name: "reason, diff and rollback of a change set are in view at once, on a laptop and on a phone",
    flags: [],
    play: async ({ url }) => {
      for (const size of [laptop, { width: 480, height: 900 }]) {
        await withPage(size, async (page) => {
          await open(page, `${url}/?v=1&change=cs-0042`);
          const detail = page.getByTestId("change-detail");
          await until("the detail", detail.waitFor());
          for (const part of ["Reason", "Diff", "Rollback"].map((name) => detail.getByText(name, { exact: true })))
            check(`${size.width}: ${await part.textContent()} is out of view`, await inView(part));
          const approve = detail.getByRole("button", { name: "Approve and apply" });
          check(`${size.width}: the button is out of view`, await inView(approve));
          check(
            `${size.width}: the diff is out of view`,
            await inView(detail.getByTestId("diff").locator("summary").first()),
          );
        });
      }
    },
  },
  {
    name: "what is wrong with an exporter is readable as a whole",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, `${url}/?v=1&change=cs-0042`);
        const text = page.getByTestId("concerns").getByText("12 dropped: no-template, 1 dropped: truncated");
        await until("what is wrong", text.waitFor());
        check("it is cut off", await inView(text));
      });
    },
  },
  {
    name: "what is selected lives in the link, and back goes back",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await page.getByTestId("pair").first().getByRole("button").click();
        await until("the evidence", page.getByTestId("evidence").getByText("192.0.2.2:40112").first().waitFor());
        const whose = await page.getByTestId("whose").textContent();
        check(whose, whose === "Whose flows: atlas/Production Output 75 %, cms 10 % of 4.00 GB");
        await page.getByRole("button", { name: "Table" }).click();
        check(page.url(), page.url().endsWith("/?v=1&pair=p-w1-e1&view=table"));
        await page.reload();
        await until("the same again", page.getByTestId("links").waitFor());
        await until("the same again", page.getByTestId("evidence").waitFor());
        await page.goBack();
        await until("the map", page.locator(".map").waitFor());
      });
    },
  },
  {
    name: "a lost gateway is said, and the page comes back with it",
    flags: [],
    play: async (server, { serve }) => {
      await withPage(laptop, async (page) => {
        await open(page, server.url);
        const state = page.getByTestId("events-state");
        await until("the live stream", state.getByText("live").waitFor());
        await server.stop();
        await until("the page to notice", state.getByText("disconnected").waitFor());
        await until("old data marked as old", page.getByText("Last loaded").first().waitFor());
        const again = await serve(["--listen", new URL(server.url).host]);
        await until("the stream to come back", state.getByText("live").waitFor());
        await until("the data to come back", page.getByText("Last loaded").first().waitFor({ state: "detached" }));
        await again.stop();
      });
    },
  },
  {
    name: "VPNs are shown against their fair shares, live, and one alone when selected",
    flags: ["--vpns", "5"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await page.getByRole("link", { name: "VPNs" }).click();
        const rates = page.getByTestId("vpn-rates");
        await until(
          "a line and a dashed fair share",
          rates.locator("path.line.s0.dashed").waitFor({ state: "attached" }),
        );
        const keys = page.getByTestId("vpn-key");
        await until("the sixth flow", keys.nth(5).waitFor());
        check(
          `legend ${await keys.allTextContents()}`,
          /red.*wr → er.*Mbit\/s of .*Mbit\/s/.test((await keys.first().textContent()) ?? "") ||
            (await keys.count()) === 6,
        );
        const path = rates.locator("path.line.s1:not(.dashed)");
        const before = await path.getAttribute("d");
        await until(
          "the line to move",
          page.waitForFunction(
            (d) => document.querySelector("path.line.s1:not(.dashed)")?.getAttribute("d") !== d,
            before,
          ),
        );
        await until(
          "F",
          page
            .getByTestId("vpn-F")
            .getByText(/^(0\.9\d\d|1\.000)$/)
            .waitFor(),
        );
        await until(
          "the uncontrolled flow",
          page.locator('[data-testid="vpn-flow"][data-phase="no-feedback"]').getByText("uncontrolled").waitFor(),
        );
        await until(
          "the PE that is unreachable",
          page.locator('[data-testid="pe-cr"][data-state="unreachable"]').waitFor(),
        );
        await until(
          "who changed what",
          page.getByTestId("vpn-change").first().getByText("red pays for more").waitFor(),
        );
        await until("a name nobody has", page.getByText("no PE has a VPN called violet").waitFor());
        await page.getByTestId("vpn-flows").getByRole("button", { name: "blue", exact: true }).click();
        check(page.url(), page.url().endsWith("/?v=1&page=vpns&vpn=blue"));
        await until(
          "blue alone",
          page.waitForFunction(() => document.querySelectorAll('[data-testid="vpn-key"]').length === 1),
        );
        await page.reload();
        await until("the same again", page.getByText("only blue; show all").waitFor());
        await page.getByLabel("Search VPN flows").fill("uncontrolled");
        await until(
          "one row",
          page.waitForFunction(() => document.querySelectorAll('[data-testid="vpn-flow"]').length === 1),
        );
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        check("the page scrolls sideways", !wide);
      });
    },
  },
  {
    name: "every number of the papers has its row, its verdict and why",
    flags: [],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await page.goto(`${url}/?v=1&page=papers`);
        await until("the totals", page.getByTestId("paper-001").waitFor());
        check(
          "totals of 001",
          /001.*3111$/.test(((await page.getByTestId("paper-001").textContent()) ?? "").replaceAll(/\s/g, "")),
        );
        const rows = page.getByTestId("score-row");
        check(`${await rows.count()} rows`, (await rows.count()) === 4);
        check("the lab's value", (await rows.first().textContent())?.includes("0.979"));
        await page.getByRole("button", { name: "1 plot" }).click();
        await until(
          "the plot",
          page.waitForFunction(() => [...document.images].some((i) => i.complete && i.naturalWidth > 0)),
        );
        await page.getByRole("button", { name: "outside", exact: true }).click();
        check(page.url(), page.url().endsWith("/?v=1&page=papers&outcome=outside"));
        check(`${await rows.count()} rows outside`, (await rows.count()) === 1);
        await page.getByRole("button", { name: "throughput of VPN 5" }).click();
        await until("why", page.getByTestId("score-why").getByText("VPN 5 starts last").waitFor());
        await page.getByRole("button", { name: "004", exact: true }).click();
        await until("nothing outside there", page.getByText("No row matches.").waitFor());
        await page.getByRole("link", { name: "Network" }).click();
        await until("the map", page.getByTestId("topology").waitFor());
      });
    },
  },
  {
    name: "without PEs and results the new pages say what to do next",
    flags: ["--empty"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await page.goto(`${url}/?v=1&page=vpns`);
        for (const text of [
          "No VPN flow was measured in the last 5 minutes.",
          "No VPN flows.",
          "The control plane has set no weights.",
        ])
          await until(text, page.getByText(text).waitFor());
        await page.getByRole("link", { name: "Papers" }).click();
        await until("not measured yet", page.getByText("Not measured yet.").waitFor());
      });
    },
  },
  {
    name: "an empty network says what to do next",
    flags: ["--empty"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        for (const text of [
          "No routers yet.",
          "No alpha pairs yet.",
          "No change sets yet.",
          "No exporter has sent flow records yet.",
        ]) {
          await until(text, page.getByText(text).waitFor());
        }
      });
    },
  },
  {
    name: "a router without telemetry is marked, with the reason",
    flags: ["--dead", "cr"],
    play: async ({ url }) => {
      await withPage(laptop, async (page) => {
        await open(page, url);
        await until("the mark", page.locator('[data-testid="router-cr"][data-state="unreachable"]').waitFor());
        await until("the reason", page.locator(".legend").getByText("connection refused").waitFor());
      });
    },
  },
];
