import { severityText, severityTone } from "../model/events";
import { formatSpan } from "../model/units";
import { useStream, useTime } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { TimeOfDay } from "./time";

export function EventsPanel() {
  const stream = useStream();
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
          Not connected: {stream.error}. <Retry at={stream.retryAt ?? 0} />
        </p>
      )}
      {stream.events.length === 0 ? (
        <Empty title="No events yet.">Events of all services appear here as they happen.</Empty>
      ) : (
        <ol role="log" aria-label="Events, newest first">
          {stream.events.map((e) => (
            <li key={e.id} className={severityTone(e.severity)} data-testid="event">
              <TimeOfDay at={e.time} />
              <span className="dot" title={severityText(e.severity)} />
              <span className="text">
                {e.text}
                <span className="dim" title={e.subject}>
                  {" "}
                  {e.code} · {e.source}
                </span>
                {e.detail && (
                  <details>
                    <summary className="dim">details</summary>
                    <pre>{e.detail}</pre>
                  </details>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

function Retry({ at }: { at: number }) {
  const text = useTime((now) => (at > now ? `Next attempt in ${formatSpan(at - now)}.` : "Connecting."));
  return <>{text}</>;
}
