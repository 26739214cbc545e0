// Start the console.
import { html, render } from "./vendor/preact.js";
import { discover } from "./core/service.js";
import { key } from "./core/session.js";
import { Toasts } from "./parts/feedback.js";
import { Shell } from "./parts/shell.js";
import { SignIn } from "./parts/signin.js";

function App() {
  return key.value ? html`<${Shell} />` : html`<${SignIn} /><${Toasts} />`;
}

discover();
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
