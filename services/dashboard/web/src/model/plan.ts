// A router's plan in sentences.
import type { RedirectRule, RouterPlan } from "../gen/millrace/policy/v1/policy_pb";
import type { DeviceChange } from "../gen/millrace/push/v1/push_pb";
import { bitsPerSecond, formatRate } from "./units";

/** Routers that LSPs start from come first: their part of a change set decides which traffic moves. */
export const headsFirst = (devices: readonly DeviceChange[]) =>
  [...devices].sort((a, b) => Number((b.plan?.lsps.length ?? 0) > 0) - Number((a.plan?.lsps.length ?? 0) > 0));

/** The plan in sentences; nameOf turns loopbacks into router names where they are known. */
export function planSentences(plan: RouterPlan, nameOf: (loopback: string) => string): string[] {
  const out: string[] = [];
  if (plan.queues.length && plan.ports.length) {
    const shares = plan.queues.map((q) => `${q.name} ${q.weight} %`).join(", ");
    const ports = plan.ports.map((p) => `${p.interface} (${formatRate(bitsPerSecond(Number(p.speed)))})`).join(", ");
    out.push(`Queues ${shares} on ${ports}`);
  }
  for (const lsp of plan.lsps) out.push(`LSP ${lsp.name} by ${[plan.router, ...lsp.hops.map(nameOf)].join(" → ")}`);
  for (const o of plan.policers)
    out.push(
      `At most ${formatRate(bitsPerSecond(Number(o.rate)))} into queue ${o.queue} on each of ${o.interfaces.join(", ")}`,
    );
  // A class consists of many rules in several filters; one sentence summarises it.
  return [...out, ...new Set(plan.rules.map(ruleSentence))];
}

function ruleSentence(r: RedirectRule): string {
  const what = r.class ? `Class ${r.class}` : `${r.src} → ${r.dst}`;
  const mark = r.mark === undefined ? "" : `, marked with DSCP ${r.mark}`;
  return `${what} into queue ${r.queue}${r.lsp ? ` and LSP ${r.lsp}` : ""}${mark}`;
}

/** A check's text starts with its verdict; anything but "ok" is a failure. */
export const checkFailed = (line: string) => !/^(ok|pass)/i.test(line.trim());
