// The end-to-end test of the page: runs the fixture (made-up services behind
// the real gateway, see services/dashboard/fixture) and drives it in Chromium.
//
//   npm run build && npm run e2e
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { apidocsScenarios } from "./apidocs.mjs";
import { keepBrowser } from "./browser.mjs";
import { circuitScenarios } from "./circuits.mjs";
import { guardScenarios } from "./guards.mjs";
import { loginScenarios } from "./login.mjs";
import { providerScenarios } from "./provider.mjs";
import { scenarios } from "./scenarios.mjs";

const repository = fileURLToPath(new URL("../../../../", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
const binary = join(scratch, "fixture");

/** Runs a program to its end; its output is shown only when it fails. */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: repository });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        output += data;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`${program} ${args[0]}: ${output}`))));
  });
}

/** Starts the fixture and gives its URL, and a way to end it. */
async function serve(flags) {
  const child = spawn(binary, flags, { cwd: repository, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  for await (const line of createInterface({ input: child.stdout })) return { url: line, stop };
  throw new Error(`the fixture ended before it served (flags ${flags.join(" ")})`);
}

let failed = 0;
let closeBrowser;
try {
  closeBrowser = await keepBrowser();
  await run("go", ["build", "-o", binary, "./services/dashboard/fixture"]);
  for (const { name, flags, play } of [
    ...scenarios,
    ...guardScenarios,
    ...circuitScenarios,
    ...apidocsScenarios,
    ...loginScenarios,
    ...providerScenarios,
  ]) {
    const server = await serve(flags);
    try {
      await play(server, { scratch, serve, run });
      console.log(`ok    ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL  ${name}\n      ${error.message.replaceAll("\n", "\n      ")}`);
    } finally {
      await server.stop();
    }
  }
} finally {
  await closeBrowser?.();
  rmSync(scratch, { recursive: true });
}
process.exitCode = failed > 0 ? 1 : 0;
