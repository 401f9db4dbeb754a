import { concerns, needsTemplates, samplingText, sourceText } from "../model/exporters";
import { nameOfAddress } from "../model/topology";
import { formatCount, formatShare, share } from "../model/units";
import { useResource, useStore } from "../state/hooks";
import { Badge, Empty, Panel } from "./Panel";
import { Ago } from "./time";

export function ExportersPanel() {
  const store = useStore();
  const quality = useResource(store.network.quality);
  const snapshot = useResource(store.network.topology).data;
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
            {list.map((q) => {
              const bad = concerns(q);
              return (
                <tr key={`${q.exporter} ${q.observationDomain} ${q.source}`} data-testid="exporter">
                  <td
                    title={`observation domain ${q.observationDomain}, ${formatCount(q.records)} records in ${formatCount(q.datagrams)} datagrams`}
                  >
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
                  <td title={bad.join("\n")}>
                    {bad.length === 0 ? (
                      <Badge tone="good">good</Badge>
                    ) : (
                      <span className="bad-text">{bad.join(", ")}</span>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
