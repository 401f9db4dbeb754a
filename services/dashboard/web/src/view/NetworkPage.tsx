import type { UrlState } from "../model/urlState";
import { ChangesPanel } from "./ChangesPanel";
import { EventsPanel } from "./EventsPanel";
import { ExportersPanel } from "./ExportersPanel";
import { NowPanel } from "./NowPanel";
import { PairsPanel } from "./PairsPanel";
import { SplitPanel } from "./SplitPanel";
import { TopologyPanel } from "./TopologyPanel";

interface Props {
  url: UrlState;
  onUrl: (part: Partial<UrlState>) => void;
}

/** The network, its alpha pairs and exporters; beside them the change sets and events. */
export function NetworkPage({ url, onUrl }: Props) {
  const selectChange = (change: string | undefined) => onUrl({ change });
  const selectPair = (pair: string | undefined) => onUrl({ pair });
  return (
    <main className={url.change ? "reading" : ""}>
      <div className="column">
        <TopologyPanel
          selected={url.change}
          view={url.view}
          onView={(view) => onUrl({ view })}
          onChange={selectChange}
        />
        <NowPanel onChange={selectChange} />
        <SplitPanel onChange={selectChange} />
        <PairsPanel selected={url.pair} onSelect={selectPair} />
        <ExportersPanel />
      </div>
      <div className="column">
        <ChangesPanel selected={url.change} onSelect={selectChange} onPair={selectPair} />
        <EventsPanel />
      </div>
    </main>
  );
}
