import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createApi } from "./api/clients";
import { loginCode, providerAnswer, Session, takeBegun } from "./state/identity";
import { createStore } from "./state/store";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/map.css";
import "./styles/change.css";
import "./styles/diff.css";
import "./styles/dialog.css";
import "./styles/vpn.css";
import "./styles/circuits.css";
import "./styles/papers.css";
import "./styles/login.css";
import "./styles/audit.css";
import "./styles/now.css";
import { App } from "./view/App";
import { Gate } from "./view/Gate";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element #root");
const api = createApi(
  location.origin,
  () => session.lost(),
  () => void session.askPermissions(),
);
const session = new Session(api.identity);
const store = createStore(api);
const code = loginCode(location.hash);
if (code) history.replaceState(null, "", location.pathname + location.search);
const answer = providerAnswer(location.search);
const begun = answer && takeBegun();
// Only the query comes back, and replaceState refuses another origin.
if (begun) history.replaceState(null, "", location.pathname + begun.search);
void session.start(code, answer && begun && { ...answer, login: begun.login });
createRoot(root).render(
  <StrictMode>
    <Gate session={session} store={store}>
      <App />
    </Gate>
  </StrictMode>,
);
