import { severityText, severityTone } from "../model/events";
import { formatSpan, type Millis } from "../model/units";
import { useStream } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { Clock } from "./time";

export function EventsPanel({ now }: { now: Millis }) {
  const stream = useStream();
  const wait = stream.retryAt === undefined ? 0 : Math.max(0, stream.retryAt - now);
  return (
    <Panel
      title="Events"
      className="events"
      testId="events"
      aside={
        <Badge tone={stream.connected ? "good" : stream.error ? "bad" : "neutral"} testId="events-state">
          {stream.connected ? "live" : stream.error ? "disconnected" : "connecting"}
        </Badge>
      }
    >
      {!stream.connected && stream.error && (
        <p className="problem" role="status">
          Not connected: {stream.error}. {wait > 0 ? `Trying again in ${formatSpan(wait)}.` : "Trying again now."}
        </p>
      )}
      {stream.events.length === 0 ? (
        <Empty title="Nothing happened yet.">What services find, plan and push appears here as it happens.</Empty>
      ) : (
        <ol role="log" aria-label="Events, newest first">
          {stream.events.map((e) => (
            <li key={e.id} className={severityTone(e.severity)} data-testid="event">
              <Clock at={e.time} />
              <span className="dot" title={severityText(e.severity)} />
              <span className="text">
                {e.text}
                <span className="dim" title={e.subject}>
                  {" "}
                  {e.code} · {e.source}
                </span>
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
