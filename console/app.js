// Start the console.
import { html, render } from "./vendor/preact.js";
import { discover } from "./core/service.js";
import { route } from "./core/router.js";
import { key } from "./core/session.js";
import { Toasts } from "./parts/feedback.js";
import { Lazy } from "./parts/lazy.js";
import { OutgoingBar } from "./parts/outgoing.js";
import { Shell } from "./parts/shell.js";

const inMain = (content) => html`<main class="main page">${content}</main>`;

/** The description of the API is for everybody; all other pages want a key. */
function App() {
  if (key.value) return html`<${Shell} />`;
  return html`
    <${OutgoingBar} />
    ${
      route.value.path[0] === "api"
        ? html`
          <main id="main" class="main" tabindex="-1">
            <${Lazy} load=${() => import("./pages/api.js")} />
          </main>
        `
        : html`<${Lazy} load=${() => import("./parts/signin.js")} around=${inMain} />`
    }
    <${Toasts} />
  `;
}

discover();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.textContent = "";
render(html`<${App} />`, root);
