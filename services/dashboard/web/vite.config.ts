import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The dev server passes API calls on to a running gateway, for example
// `go run ./services/dashboard/fixture --listen 127.0.0.1:8080`.
const gateway = process.env.MILLRACE_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  server: { host: "127.0.0.1", proxy: { "^/millrace\\.": { target: gateway } } },
  // Small files as data: URLs would need a looser content security policy.
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Swagger UI is one file of 1.7 MB, on a page of its own.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: { input: { index: "index.html", apidocs: "v1/docs/index.html" } },
  },
  // What has not happened after five minutes does not happen; a busy machine is no finding.
  test: { include: ["src/**/*.test.{ts,tsx}"], testTimeout: 300_000, hookTimeout: 300_000 },
});
