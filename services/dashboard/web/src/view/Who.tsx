import { useContext, useSyncExternalStore } from "react";
import { SessionContext } from "../state/hooks";
import type { Session } from "../state/identity";

/** Who is logged in; nothing where the gateway asks for no login. */
export function Who() {
  const session = useContext(SessionContext);
  return session && <LoggedIn session={session} />;
}

function LoggedIn({ session }: { session: Session }) {
  const identity = useSyncExternalStore(session.subscribe, session.get);
  if (identity.state !== "in") return null;
  return (
    <p className="who">
      <span title={`${identity.name}, ${identity.role}`}>
        {identity.name}, {identity.role}
      </span>
      <button type="button" className="button quiet" onClick={() => void session.logout()}>
        Log out
      </button>
    </p>
  );
}
