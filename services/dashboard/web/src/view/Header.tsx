import { awaiting } from "../model/changes";
import { concerns } from "../model/quality";
import type { Graph } from "../model/topology";
import { formatUrlState, type Page } from "../model/urlState";
import { useResource, useStore, useStream } from "../state/hooks";

interface Props {
  graph: Graph;
  /** Selected change set: it needs no button to get to it. */
  selected: string | undefined;
  page: Page | undefined;
  onPage: (page: Page | undefined) => void;
  onChange: (id: string) => void;
}

const pages: readonly [Page | undefined, string][] = [
  [undefined, "Network"],
  ["vpns", "VPNs"],
  ["papers", "Papers"],
];

/** The state of everything in one line. */
export function Header({ graph, selected, page, onPage, onChange }: Props) {
  const store = useStore();
  const stream = useStream();
  const pairs = useResource(store.pairs).data;
  const waiting = awaiting(useResource(store.changes).data ?? []);
  const exporters = useResource(store.quality).data?.exporters;
  const managed = graph.routers.filter((r) => r.state !== "foreign");
  const up = managed.filter((r) => r.state === "up");
  const doubtful = exporters?.filter((q) => concerns(q).length > 0) ?? [];
  const first = waiting.find((c) => c.id !== selected);
  return (
    <header className="top">
      <h1>
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
          <path className="beside" d="M3 23c4.500 0 4.500-3 8.700-3s4.500 3 8.700 3 4.500-3 8.600-3" />
          <path className="race" d="M3 15c6 0 7-6 13-6s7 6 13 6" />
        </svg>
        Millrace
      </h1>
      <nav aria-label="Pages">
        {pages.map(([id, name]) => (
          <a
            key={name}
            href={formatUrlState({ view: "map", ...(id && { page: id }) }) || "/"}
            aria-current={page === id ? "page" : undefined}
            onClick={(e) => {
              if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return; // a tab of its own
              e.preventDefault();
              onPage(id);
            }}
          >
            {name}
          </a>
        ))}
      </nav>
      <ul aria-label="Summary">
        <Fact label="routers" value={`${up.length}/${managed.length}`} bad={up.length < managed.length} />
        <Fact label="alpha pairs" value={pairs ? String(pairs.length) : "–"} />
        <Fact
          label="exporters"
          value={exporters ? `${exporters.length - doubtful.length}/${exporters.length}` : "–"}
          bad={doubtful.length > 0}
          hint="good / all"
        />
      </ul>
      {first && (
        <button type="button" className="button waiting" onClick={() => onChange(first.id)}>
          Review {first.id}
        </button>
      )}
      <span className={stream.connected ? "live" : "live off"} role="status">
        {stream.connected ? "live" : "disconnected"}
      </span>
    </header>
  );
}

function Fact({ label, value, bad = false, hint }: { label: string; value: string; bad?: boolean; hint?: string }) {
  return (
    <li className={bad ? "bad" : ""} title={hint}>
      <strong>{value}</strong> {label}
    </li>
  );
}
