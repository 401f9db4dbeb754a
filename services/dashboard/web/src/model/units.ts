// Numbers with their unit in the type, so that bits are never taken for bytes,
// and their texts.
declare const unit: unique symbol;
type Unit<Name extends string> = number & { readonly [unit]: Name };

export type BitsPerSecond = Unit<"bit/s">;
/** Milliseconds since the Unix epoch. */
export type Millis = Unit<"ms">;
/** 1 is all of it. */
export type Share = Unit<"share">;

export const bitsPerSecond = (n: number) => n as BitsPerSecond;
export const millis = (n: number) => n as Millis;
export const share = (n: number) => n as Share;

const prefixes = ["", "k", "M", "G", "T", "P"];

function scaled(n: number, base: string): string {
  let step = 0;
  let value = n;
  while (Math.abs(value) >= 999.5 && step < prefixes.length - 1) {
    value /= 1000;
    step++;
  }
  const digits = step === 0 || Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${prefixes[step]}${base}`;
}

export const formatRate = (rate: BitsPerSecond) => scaled(rate, "bit/s");
export const formatBytes = (bytes: bigint | number) => scaled(Number(bytes), "B");

export function formatShare(s: Share, digits = 0): string {
  if (s > 0 && s * 100 < 0.5 * 10 ** -digits) return `< ${(10 ** -digits).toFixed(digits)} %`;
  return `${(s * 100).toFixed(digits)} %`;
}

export function formatCount(n: bigint | number): string {
  return n.toLocaleString("en-US").replaceAll(",", " ");
}

const spans: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** A length of time in its two leading units at most, such as "1 h 20 min". */
export function formatSpan(ms: number): string {
  const first = spans.findIndex(([, size]) => ms >= size);
  if (first < 0) return "0 s";
  const [name, size] = spans[first] as [string, number];
  const whole = Math.floor(ms / size);
  const next = spans[first + 1];
  const rest = next && whole < 10 ? Math.floor((ms - whole * size) / next[1]) : 0;
  return rest > 0 && next ? `${whole} ${name} ${rest} ${next[0]}` : `${whole} ${name}`;
}

/** A length of time in its leading unit. */
const coarse = (ms: number) => formatSpan(ms).replace(/^(\d+ \w+) .*/, "$1");

/** How long ago, coarse enough not to flicker. */
export function formatAgo(then: Millis, now: Millis): string {
  return now - then < 5000 ? "now" : `${coarse(now - then)} ago`;
}

/** How long until then. */
export const formatUntil = (then: Millis, now: Millis) => (then > now ? `in ${coarse(then - now)}` : "now");
