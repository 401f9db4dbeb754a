import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../model/circuits";
import { formatAgo, type Millis, millis } from "../model/units";
import { useTime } from "../state/hooks";

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** A time of day, with the date where it is not today's. */
export function TimeOfDay({ at }: { at: Timestamp | undefined }) {
  if (!at) return <span className="dim">–</span>;
  const date = timestampDate(at);
  const today = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {(today ? clock : day).format(date)}
    </time>
  );
}

/** How long ago, exact on hover. */
export function Ago({ at }: { at: Timestamp | undefined }) {
  return at ? <Age of={timestampDate(at)} /> : <span className="dim">–</span>;
}

/** Like Ago, for a time of this browser's clock. */
export function AgoMillis({ at }: { at: Millis }) {
  return <Age of={new Date(at)} />;
}

function Age({ of }: { of: Date }) {
  const text = useTime((now) => formatAgo(millis(of.getTime()), now));
  return (
    <time dateTime={of.toISOString()} title={full.format(of)}>
      {text}
    </time>
  );
}

const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dateOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const timeText = (t: Date) => (t.getSeconds() === 0 ? minute : clock).format(t);

/** A moment of a window: seconds only where there are some, the date where it is not today's, the year where it is another. */
export function momentText(ms: number): string {
  const then = new Date(ms);
  const now = new Date();
  const time = timeText(then);
  if (then.toDateString() === now.toDateString()) return time;
  return `${(then.getFullYear() === now.getFullYear() ? date : dateOfYear).format(then)}, ${time}`;
}

const sameDay = (a: Timestamp, b: Timestamp) => timestampDate(a).toDateString() === timestampDate(b).toDateString();

/** Times of windows in this browser's zone. */
export const windowClock: Clock = {
  at: (t) => momentText(Number(t.seconds) * 1000),
  until: (end, start) =>
    start && sameDay(start, end) ? timeText(timestampDate(end)) : momentText(Number(end.seconds) * 1000),
};

/** A mark of an axis: the date at midnight, else the time. */
export function tickText(ms: number): string {
  const at = new Date(ms);
  return at.getHours() === 0 && at.getMinutes() === 0 ? date.format(at) : minute.format(at);
}

/** How far this browser's zone is ahead of UTC at a time, ms. */
export const zoneOffset = (at: Millis): number => -new Date(at).getTimezoneOffset() * 60_000;

/** The zone in which all times are shown. */
export const zoneName = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const pad = (n: number) => String(n).padStart(2, "0");

/** A time as a field of a form has it, in this browser's zone. */
export function fieldTime(ms: number): string {
  const t = new Date(ms);
  const seconds = t.getSeconds() === 0 ? "" : `:${pad(t.getSeconds())}`;
  const day = `${t.getFullYear()}-${pad(t.getMonth() + 1)}-${pad(t.getDate())}`;
  return `${day}T${pad(t.getHours())}:${pad(t.getMinutes())}${seconds}`;
}

export const timeOfField = (text: string): number => new Date(text).getTime();
