// A Chromium that works as root, without a display and without a way out of this host.
import { chromium } from "playwright-core";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--no-first-run",
  "--disable-component-update",
  "--disable-sync",
];

const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });

let kept;

/** Keeps one Chromium for all pages, because its start takes longer than most of what they do; returns what closes it. */
export async function keepBrowser() {
  kept = await launch();
  return () => kept.close();
}

/** Runs work(page) on a page that shares nothing with others and fails the run on errors of its own. */
export async function withPage({ width, height, dark }, work) {
  const browser = kept ?? (await launch());
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  try {
    const errors = [];
    page.on("pageerror", (e) => errors.push(String(e)));
    page.on("console", (m) => {
      if (/content security policy/i.test(m.text())) errors.push(m.text());
    });
    const result = await work(page);
    if (errors.length > 0) throw new Error(`the page had errors:\n${errors.join("\n")}`);
    return result;
  } finally {
    await (kept ? page : browser).close();
  }
}

/** When a test gives up, in ms. It is no expectation of speed: what has not happened on a busy machine by then does not happen. */
export const patience = 120_000;

/** Waits for something; the error names it. */
export async function until(what, promise) {
  try {
    return await promise;
  } catch (error) {
    throw new Error(`waited in vain for ${what}: ${String(error.message ?? error).split("\n")[0]}`);
  }
}

/** Whether an element comes to be wholly inside the window and inside every ancestor that clips it: what loads beside it moves it. */
export async function inView(locator) {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
    if (await insideAll(locator)) return true;
  }
  return false;
}

function insideAll(locator) {
  return locator.evaluate((e) => {
    const r = e.getBoundingClientRect();
    const inside = (b) =>
      r.left >= b.left - 1 && r.right <= b.right + 1 && r.top >= b.top - 1 && r.bottom <= b.bottom + 1;
    const window = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      if (getComputedStyle(p).overflow !== "visible" && !inside(p.getBoundingClientRect())) return false;
    }
    return inside(window) && r.height > 0;
  });
}
