// Start the console.
import { html, render } from "./vendor/preact.js";
import { begin } from "./core/people.js";
import { route } from "./core/router.js";
import { discover } from "./core/service.js";
import { asking, enrolling, identity, visit } from "./core/session.js";
import { styled } from "./core/styles.js";
import { Toasts } from "./parts/feedback.js";
import { Lazy } from "./parts/lazy.js";
import { OutgoingBar } from "./parts/outgoing.js";
import { Shell } from "./parts/shell.js";

const inMain = (content) => html`<main class="main page">${content}</main>`;

/** The pages without navigation, as before somebody is signed in. */
const ENTRANCES = Object.fromEntries(
  Object.entries({
    invitation: () => import("./parts/invitation.js"),
    reset: () => import("./parts/new-password.js"),
    enrolment: () => import("./parts/enrolment.js"),
    signin: () => import("./parts/signin.js"),
  }).map(([name, load]) => [name, styled(load, ["styles/people.css"])]),
);

/** Which of them is to be shown; empty where there is a session. */
function entrance() {
  if (visit.value) return visit.value.kind;
  if (enrolling.value) return "enrolment";
  return identity() ? "" : "signin";
}

/** The description of the API is for everybody; all other pages want to know who it is. */
function App() {
  const name = entrance();
  if (!name) return html`<${Shell} key=${identity()} />`;
  if (asking.value && !visit.value) return html`<${Boot} />`;
  return html`
    <${OutgoingBar} />
    ${
      name === "signin" && route.value.path[0] === "api"
        ? html`
          <main id="main" class="main" tabindex="-1">
            <${Lazy} load=${styled(() => import("./pages/api.js"), ["styles/pages.css"])} />
          </main>
        `
        : html`<${Lazy} key=${name} load=${ENTRANCES[name]} around=${inMain} />`
    }
    <${Toasts} />
  `;
}

/** What index.html shows until the first module runs. */
const Boot = () => html`
  <div class="boot" aria-hidden="true">
    <div class="boot-side"></div>
    <div class="boot-main"><i></i><i></i><i></i></div>
  </div>
`;

discover();
begin();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.textContent = "";
render(html`<${App} />`, root);
