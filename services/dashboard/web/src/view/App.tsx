import { useUrlState } from "../state/hooks";
import { AuditPage } from "./AuditPage";
import { CircuitsPage } from "./CircuitsPage";
import { Foot } from "./Foot";
import { Header } from "./Header";
import { NetworkPage } from "./NetworkPage";
import { PapersPage } from "./PapersPage";
import { VpnPage } from "./VpnPage";

export function App() {
  const [url, setUrl] = useUrlState();
  return (
    <div className="app">
      <Header
        selected={url.page ? undefined : url.change}
        page={url.page}
        onPage={(page) => setUrl({ page })}
        onChange={(change) => setUrl({ change, page: undefined })}
      />
      {url.page === "circuits" && (
        <CircuitsPage circuit={url.circuit} link={url.link} maintenance={url.maintenance} onSelect={setUrl} />
      )}
      {url.page === "vpns" && <VpnPage selected={url.vpn} onSelect={(vpn) => setUrl({ vpn })} />}
      {url.page === "papers" && <PapersPage paper={url.paper} outcome={url.outcome} onFilter={setUrl} />}
      {url.page === "audit" && <AuditPage />}
      {!url.page && <NetworkPage url={url} onUrl={setUrl} />}
      <Foot />
    </div>
  );
}
