import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { SessionContext, StoreContext } from "../state/hooks";
import type { Session } from "../state/identity";
import type { Store } from "../state/store";
import { LoginPage } from "./LoginPage";

/** Shows the page to who is logged in; nothing is asked of the APIs before. */
export function Gate({ session, store, children }: { session: Session; store: Store; children: ReactNode }) {
  const identity = useSyncExternalStore(session.subscribe, session.get);
  const inside = identity.state === "in" || identity.state === "open";
  useEffect(() => (inside ? store.start() : undefined), [inside, store]);
  if (identity.state === "asking") return null;
  if (identity.state === "out")
    return <LoginPage session={session} problem={identity.problem} provider={identity.provider} />;
  return (
    <SessionContext value={session}>
      <StoreContext value={store}>{children}</StoreContext>
    </SessionContext>
  );
}
