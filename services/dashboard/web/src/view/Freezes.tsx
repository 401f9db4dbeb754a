import { useResource, useStore } from "../state/hooks";
import { Ago } from "./time";

/** What the freeze switch keeps change sets off, who turned it on and why; nothing while it is off. */
export function Freezes() {
  const { data = [], error } = useResource(useStore().changes.freezes);
  return (
    <>
      {error && (
        <p className="problem" role="status">
          Not known whether routers are frozen: {error}.
        </p>
      )}
      {data.map((f) => (
        <p key={f.router} className="problem" role="status" data-testid="freeze" data-router={f.router}>
          <strong>{f.router ? `Router ${f.router} is frozen` : "All routers are frozen"}</strong> by {f.by},{" "}
          <Ago at={f.since} />: {f.reason}. No change set is sent until <code>millrace change unfreeze {f.router}</code>
          .
        </p>
      ))}
    </>
  );
}
