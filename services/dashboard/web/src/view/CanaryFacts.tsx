import { useMemo } from "react";
import { type Canary, canaryLabels, watchedQueues } from "../model/canary";
import { millisOf } from "../model/strip";
import { formatCount, formatShare } from "../model/units";
import { useLive, useStore } from "../state/hooks";
import { Badge } from "./Panel";
import { TimeOfDay } from "./time";

/** The router that goes first: how far it is, the push service's verdict, and the counters behind it. */
export function CanaryFacts({ canary }: { canary: Canary }) {
  const label = canaryLabels[canary.state];
  return (
    <div data-testid="canary" data-state={canary.state}>
      <p>
        {canary.router} <Badge tone={label.tone}>{label.text}</Badge>
        {canary.from && (
          <span className="dim">
            {" "}
            from <TimeOfDay at={canary.from} />
            {canary.until && (
              <>
                {" "}
                to <TimeOfDay at={canary.until} />
              </>
            )}
          </span>
        )}
      </p>
      {canary.state === "kept" && <p>{canary.verdict}</p>}
      {canary.from && <Readings canary={canary} />}
    </div>
  );
}

/** With more queues than this the others, which lost less, are only counted. */
const shownQueues = 6;

function Readings({ canary }: { canary: Canary }) {
  const { changes } = useStore();
  const { router } = canary;
  // Numbers: a new answer of the service has new objects with the same times.
  const from = canary.from && millisOf(canary.from);
  const until = canary.until && millisOf(canary.until);
  const readings = useMemo(() => changes.readings(router, from, until), [changes, router, from, until]);
  const { data, error } = useLive(readings);
  if (error) return <p className="dim">Its counters cannot be read: {error}.</p>;
  if (!data) return <p className="dim">Its counters are being read.</p>;
  const queues = watchedQueues(data);
  if (queues.length === 0) return <p className="dim">Telemetry has no queue counters of {router} in this time.</p>;
  return (
    <>
      <table className="readings" aria-label={`Queue counters of ${router} meanwhile`}>
        <thead>
          <tr>
            <th>Queue</th>
            <th className="num">Sent</th>
            <th className="num">Dropped</th>
            <th className="num">Loss</th>
            <th className="num">Readings</th>
          </tr>
        </thead>
        <tbody>
          {queues.slice(0, shownQueues).map((q) => (
            <tr key={q.name} data-testid="canary-queue">
              <td>{q.name}</td>
              <td className="num">{formatCount(q.sent)} pkt</td>
              <td className="num">{formatCount(q.dropped)} pkt</td>
              <td className="num">{q.lost === undefined ? "–" : formatShare(q.lost, 2)}</td>
              <td className="num">{q.readings}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {queues.length > shownQueues && <p className="dim">and {queues.length - shownQueues} queues that lost less</p>}
    </>
  );
}
