import type { ExporterQuality } from "../gen/millrace/flow/v1/flow_pb";
import { concerns, needsTemplates, samplingText, sourceText } from "../model/exporters";
import { nameOfAddress } from "../model/topology";
import { formatCount, formatShare, share } from "../model/units";
import { useResource, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { Ago } from "./time";

export function ExportersPanel() {
  const store = useStore();
  const quality = useResource(store.network.quality);
  const list = quality.data?.exporters ?? [];
  const drops = quality.data?.socketDrops ?? 0n;
  return (
    <Panel
      title="Exporter health"
      className="exporters"
      testId="exporters"
      source={quality}
      aside={
        drops > 0n ? (
          <Badge tone="bad">{formatCount(drops)} socket drops</Badge>
        ) : (
          <span className="dim">no socket drops</span>
        )
      }
    >
      {list.length === 0 ? (
        <Empty title="No exporter has sent flow records yet.">
          Point NetFlow v5, v9 or IPFIX at the collector, or read files with <code>millrace flows import</code>.
        </Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Exporter</th>
              <th>Source</th>
              <th className="num">Records/s</th>
              <th className="num">Loss</th>
              <th className="num">Templates</th>
              <th className="num">Sampling</th>
              <th className="num">Last</th>
              <th>Health</th>
            </tr>
          </thead>
          <tbody>
            {list.map((q) => (
              <ExporterRow key={`${q.exporter} ${q.observationDomain} ${q.source}`} exporter={q} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

/** An exporter, and below it what is wrong with its data. */
function ExporterRow({ exporter: q }: { exporter: ExporterQuality }) {
  const snapshot = useResource(useStore().network.topology).data;
  const bad = concerns(q);
  const detail = `observation domain ${q.observationDomain}, ${formatCount(q.records)} records in ${formatCount(q.datagrams)} datagrams`;
  return (
    <>
      <tr className={bad.length > 0 ? "degraded" : ""} data-testid="exporter">
        <td title={detail}>
          {nameOfAddress(snapshot, q.exporter)} <span className="dim">{q.exporter}</span>
        </td>
        <td>{sourceText(q.source)}</td>
        <td className="num">{q.recordsPerSecond.toFixed(1)}</td>
        <td className="num">{formatShare(share(q.lossRatio), 1)}</td>
        <td className="num">{needsTemplates(q.source) ? q.templates : "–"}</td>
        <td className="num">{samplingText(q.samplingRate)}</td>
        <td className="num">
          <Ago at={q.lastSeen} />
        </td>
        <td>
          <Badge tone={bad.length > 0 ? "waiting" : "good"}>{bad.length > 0 ? "degraded" : "good"}</Badge>
        </td>
      </tr>
      {bad.length > 0 && (
        <tr className="concerns" data-testid="concerns">
          <td colSpan={8}>{bad.join(", ")}</td>
        </tr>
      )}
    </>
  );
}
