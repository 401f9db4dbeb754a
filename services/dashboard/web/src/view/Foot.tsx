import { shortVersion } from "../model/version";
import { useResource, useStore } from "../state/hooks";

/** What the gateway was built from. */
export function Foot() {
  const version = useResource(useStore().version).data;
  return (
    <footer className="foot" title={version && `commit ${version.commit}, ${version.go}, ${version.platform}`}>
      {version ? `Millrace ${shortVersion(version)}` : ""}
    </footer>
  );
}
