import { useEffect, useState } from "react";
import type { Record } from "../gen/millrace/audit/v1/audit_pb";
import { callText, resultText, resultTone, whoText } from "../model/audit";
import { formatCount } from "../model/units";
import { useLive, useSettled, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { momentText } from "./time";

/** Who did what, newest first; for admins. */
export function AuditPage() {
  const { audit } = useStore();
  const source = useLive(audit.log);
  const [user, setUser] = useState("");
  const [procedure, setProcedure] = useState("");
  const filter = useSettled(`${user.trim()}\n${procedure.trim()}`, 300);
  useEffect(() => {
    const [who = "", call = ""] = filter.split("\n");
    audit.select({ user: who, procedure: call });
  }, [audit, filter]);
  const records = source.data?.records ?? [];
  return (
    <main className="audit" data-testid="audit">
      <div className="column">
        <Panel
          title="Audit log"
          className="records"
          source={source}
          aside={
            <>
              <span className="dim">{formatCount(records.length)}</span>
              <input
                type="search"
                aria-label="Who"
                placeholder="who"
                value={user}
                onChange={(e) => setUser(e.target.value)}
              />
              <input
                type="search"
                aria-label="Call"
                placeholder="call, such as Approve"
                value={procedure}
                onChange={(e) => setProcedure(e.target.value)}
              />
            </>
          }
        >
          {records.length === 0 ? (
            <Empty title="No record.">
              Calls that change something, logins and refusals are recorded where <code>identity.mode</code> is on.
            </Empty>
          ) : (
            <div className="scroll">
              <Records records={records} />
              <p className="foot">
                {source.data && source.data.before > 0n && (
                  <button type="button" className="button" onClick={() => audit.older()}>
                    Older
                  </button>
                )}
                <span className="dim">
                  This page believes what it is sent; <code>millrace audit verify</code> checks the chain of hashes.
                </span>
              </p>
            </div>
          )}
        </Panel>
      </div>
    </main>
  );
}

function Records({ records }: { records: readonly Record[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th className="num">No.</th>
          <th>When</th>
          <th>Who</th>
          <th>From</th>
          <th>Call</th>
          <th>About</th>
          <th>Why</th>
          <th>Result</th>
        </tr>
      </thead>
      <tbody>
        {records.map((r) => (
          <tr key={String(r.seq)} data-testid="record" data-seq={String(r.seq)}>
            <td className="num">{String(r.seq)}</td>
            <td>
              <time dateTime={r.at} title={r.at}>
                {momentText(Date.parse(r.at))}
              </time>
            </td>
            <td>{whoText(r)}</td>
            <td>{r.from || "in process"}</td>
            <td title={r.procedure}>{callText(r.procedure)}</td>
            <td className="text" title={r.object}>
              {r.object}
            </td>
            <td className="text" title={r.reason}>
              {r.reason}
            </td>
            <td>
              <Badge tone={resultTone(r)}>{resultText(r)}</Badge>
              {r.times > 0n && <span className="dim"> and {formatCount(r.times)} more</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
