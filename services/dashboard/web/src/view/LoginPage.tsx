import { type FormEvent, useState } from "react";
import type { Session } from "../state/identity";

/** The form that stands before everything else where the gateway asks for a login. */
export function LoginPage({
  session,
  problem,
  provider,
}: {
  session: Session;
  problem: string | undefined;
  provider: string | undefined;
}) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(problem);

  async function send(e: FormEvent) {
    e.preventDefault();
    setBusy(true);
    setError(undefined);
    const failure = await session.login(name.trim(), password);
    setBusy(false);
    setPassword("");
    setError(failure);
  }

  async function toProvider() {
    setBusy(true);
    setError(await session.toProvider(location.search, (url) => location.assign(url)));
    setBusy(false);
  }

  return (
    <main className="login">
      <form onSubmit={send} aria-label="Log in" className="panel">
        <h1>Millrace</h1>
        {provider && (
          <button type="button" className="button primary" disabled={busy} onClick={() => void toProvider()}>
            Log in by {provider}
          </button>
        )}
        <label>
          Name
          <input
            name="name"
            required
            autoComplete="username"
            maxLength={64}
            value={name}
            onChange={(e) => setName(e.target.value)}
          />
        </label>
        <label>
          Password
          <input
            name="password"
            type="password"
            required
            autoComplete="current-password"
            maxLength={256}
            value={password}
            onChange={(e) => setPassword(e.target.value)}
          />
        </label>
        {error && (
          <p className="problem" role="alert">
            {error}
          </p>
        )}
        <button type="submit" className={provider ? "button" : "button primary"} disabled={busy}>
          {busy ? "Working…" : "Log in"}
        </button>
        <p className="dim">
          The first login is by the link that <code>millrace up</code> prints; <code>millrace up --login-link</code>{" "}
          prints another.
        </p>
      </form>
    </main>
  );
}
