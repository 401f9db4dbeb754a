import { leadersDetail, leadersText } from "../model/replicas";
import { shortVersion } from "../model/version";
import { useResource, useStore } from "../state/hooks";

/** What the gateway was built from, and which host leads what. */
export function Foot() {
  const store = useStore();
  const version = useResource(store.version).data;
  const leaders = useResource(store.leaders).data ?? [];
  const hosts = leadersText(leaders);
  return (
    <footer className="foot">
      <span title={version && `commit ${version.commit}, ${version.go}, ${version.platform}`}>
        {version ? `Millrace ${shortVersion(version)}` : ""}
      </span>
      {hosts && <span title={leadersDetail(leaders)}> · leaders: {hosts}</span>}
    </footer>
  );
}
