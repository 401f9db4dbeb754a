import { useState } from "react";
import { type AlphaNow, AlphaService, type PortNow } from "../gen/millrace/alpha/v1/alpha_pb";
import { dropsOf, needsRedirect, portBeside, standing, steeredBy, sufferingQueues, suffers } from "../model/now";
import { strongest } from "../model/pairs";
import { bitsPerSecond, formatBytes, formatRate } from "../model/units";
import { useResource, useStore } from "../state/hooks";
import { CallButton } from "./CallButton";
import { OperatorDialog } from "./OperatorDialog";
import { Badge, Panel } from "./Panel";
import { Ago } from "./time";

/** What is alpha now; the panel is there only while something is, or while that is not known. */
export function NowPanel({ onChange }: { onChange: (id: string) => void }) {
  const { network } = useStore();
  const now = useResource(network.now);
  const [asked, ask] = useState<AlphaNow>();
  const list = now.data?.pairs ?? [];
  if (list.length === 0 && !asked && !now.error) return null;
  const open = list.filter(needsRedirect).length;
  return (
    <Panel
      title="Alpha now"
      className={open > 0 ? "now alarm" : "now"}
      testId="now"
      source={now}
      aside={now.data && <span className="dim">{open} unidentified</span>}
    >
      <table>
        <thead>
          <tr>
            <th>Source → destination</th>
            <th className="num">Most</th>
            <th className="num">Since</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {list.map((m) => (
            <NowRow key={m.pair?.id} now={m} ports={now.data?.ports ?? []} onAsk={() => ask(m)} onChange={onChange} />
          ))}
        </tbody>
      </table>
      {asked && <RedirectDialog now={asked} onDone={() => ask(undefined)} />}
    </Panel>
  );
}

interface RowProps {
  now: AlphaNow;
  ports: readonly PortNow[];
  onAsk: () => void;
  onChange: (id: string) => void;
}

function NowRow({ now, ports, onAsk, onChange }: RowProps) {
  const top = now.pair && strongest(now.pair);
  const port = portBeside(ports, now) ?? portBeside(now.ports, now);
  const { text, tone } = standing(now);
  return (
    <tr data-testid="alpha-now" data-state={text}>
      <td title={now.pair?.id}>
        {now.pair?.src} → {now.pair?.dst}
        <div className="dim beside" title={now.pair?.exporter}>
          at {now.router || now.pair?.exporter}, {port ? <Beside port={port} /> : "no telemetry"}
        </div>
      </td>
      <td className="num" title={now.certain ? undefined : "By sampling it may be below the threshold."}>
        {top ? formatBytes(top.bytes) : "–"}
        {!now.certain && <span className="dim"> ?</span>}
      </td>
      <td className="num">
        <Ago at={now.began} />
      </td>
      <td>
        <Badge tone={tone}>{text}</Badge>{" "}
        {needsRedirect(now) && (
          <CallButton
            call={AlphaService.method.redirect}
            className="button primary"
            onClick={onAsk}
            disabled={!now.router}
          >
            Redirect now…
          </CallButton>
        )}
        {now.changeId && (
          <button type="button" className="twist" onClick={() => onChange(now.changeId)}>
            {now.changeId}
          </button>
        )}
        {now.circuit && <span className="dim">{steeredBy(now)}</span>}
      </td>
    </tr>
  );
}

function Beside({ port }: { port: PortNow }) {
  const queues = sufferingQueues(port);
  return (
    <>
      {port.port} {formatRate(bitsPerSecond(port.bitsPerSecond))}, {dropsOf(port).toFixed(1)} drops/s
      {queues.length > 0 && <> ({queues.map((q) => `${q.queue} ${suffers(q)}`).join("; ")})</>}
    </>
  );
}

function RedirectDialog({ now, onDone }: { now: AlphaNow; onDone: () => void }) {
  const { network } = useStore();
  return (
    <OperatorDialog
      title={`Redirect ${now.pair?.src} → ${now.pair?.dst}?`}
      confirm="Yes, redirect now"
      danger={false}
      note={{ label: "Note", hint: "optional, kept in the change set", required: false }}
      submit={(decision) => network.redirect(now.pair?.id ?? "", decision)}
      onDone={onDone}
    >
      <p className="dim">
        The pair is remembered as the next nightly run would, and a change set is requested for it. The policy's
        approval rule decides whether that waits for a person.
      </p>
    </OperatorDialog>
  );
}
