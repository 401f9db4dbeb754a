import { useMemo } from "react";
import { awaiting } from "../model/changes";
import { concerns } from "../model/exporters";
import { frozenShort } from "../model/guards";
import { routersOf } from "../model/topology";
import { formatUrlState, type Page } from "../model/urlState";
import { useIdentity, useResource, useStore, useStream } from "../state/hooks";
import { Who } from "./Who";

interface Props {
  /** The change set that is open; it needs no button. */
  selected: string | undefined;
  page: Page | undefined;
  onPage: (page: Page | undefined) => void;
  onChange: (id: string) => void;
}

const pages: readonly [Page | undefined, string][] = [
  [undefined, "Network"],
  ["circuits", "Circuits"],
  ["vpns", "VPNs"],
  ["papers", "Papers"],
];

const auditPage: (typeof pages)[number] = ["audit", "Audit"];

/** Pages, the state of the network in one line, and what awaits approval. */
export function Header({ selected, page, onPage, onChange }: Props) {
  const store = useStore();
  const stream = useStream();
  const pairs = useResource(store.network.pairs).data;
  const waiting = awaiting(useResource(store.changes.list).data ?? []);
  const freezes = useResource(store.changes.freezes).data ?? [];
  const exporters = useResource(store.network.quality).data?.exporters;
  const topology = useResource(store.network.topology).data;
  const devices = useResource(store.network.devices).data;
  const routers = useMemo(() => routersOf(topology, devices ?? []), [topology, devices]);
  const managed = routers.filter((r) => r.state !== "unmanaged");
  const up = managed.filter((r) => r.state === "up");
  const unhealthy = exporters?.filter((q) => concerns(q).length > 0) ?? [];
  const identity = useIdentity();
  const admin = identity?.state === "in" && identity.role === "admin"; // the audit log is theirs
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
        {(admin ? [...pages, auditPage] : pages).map(([id, name]) => (
          <a
            key={name}
            href={formatUrlState({ view: "map", ...(id && { page: id }) }) || "/"}
            aria-current={page === id ? "page" : undefined}
            onClick={(e) => {
              if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return; // opens another tab
              e.preventDefault();
              onPage(id);
            }}
          >
            {name}
          </a>
        ))}
      </nav>
      <ul aria-label="Summary">
        <Fact
          label="routers"
          value={`${up.length}/${managed.length}`}
          bad={up.length < managed.length}
          hint="reachable / managed"
        />
        <Fact label="alpha pairs" value={pairs ? String(pairs.length) : "–"} />
        <Fact
          label="exporters"
          value={exporters ? `${exporters.length - unhealthy.length}/${exporters.length}` : "–"}
          bad={unhealthy.length > 0}
          hint="healthy / all"
        />
        {freezes.length > 0 && (
          <Fact label="frozen" value={frozenShort(freezes)} bad hint="routers nothing is sent to" />
        )}
      </ul>
      {first && (
        <button type="button" className="button waiting" onClick={() => onChange(first.id)}>
          Review {first.id}
        </button>
      )}
      <span className={stream.connected ? "live" : "live off"} role="status">
        {stream.connected ? "live" : "disconnected"}
      </span>
      <Who />
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
