import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
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
