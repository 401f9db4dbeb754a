import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createApi } from "./api/clients";
import { StoreContext } from "./state/hooks";
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
import { App } from "./view/App";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element #root");
const store = createStore(createApi(location.origin));
store.start();
createRoot(root).render(
  <StrictMode>
    <StoreContext value={store}>
      <App />
    </StoreContext>
  </StrictMode>,
);
