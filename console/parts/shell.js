// The frame of every page: navigation, subaccount switch, theme, palette and help.
import { html, useEffect, useState } from "../vendor/preact.js";
import { destinations, useKeys } from "../core/keys.js";
import { leave } from "../core/people.js";
import { question } from "../core/question.js";
import { go, href, route } from "../core/router.js";
import { account, discovered, local, subaccounts } from "../core/service.js";
import { person, subaccount, theme } from "../core/session.js";
import { styled } from "../core/styles.js";
import { mayOpen, PAGES } from "../pages/registry.js";
import { Badge, Icon, IconButton, SelectField } from "./controls.js";
import { attempt, Toasts } from "./feedback.js";
import { Lazy } from "./lazy.js";
import { OutgoingBar } from "./outgoing.js";
import { PersonMenu } from "./person-menu.js";

const THEMES = [
  ["auto", "Theme of the system", "monitor"],
  ["light", "Light theme", "sun"],
  ["dark", "Dark theme", "moon"],
];
const PAGE_STYLES = ["styles/pages.css"];
const nothing = () => null;
const listed = (all) => all.filter((page) => !page.hidden);
const signOut = () => attempt(leave);

/** The pages that this service has for this key or person. */
const pages = () => PAGES.filter(mayOpen);

export function Shell() {
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const available = pages();
  const current = available.find((each) => each.id === (route.value.path[0] ?? "overview"));
  const focusSearch = () =>
    /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"))?.focus();
  useKeys({ "mod+k": () => setPalette(true), "?": () => setHelp(true), "/": focusSearch });
  useEffect(() => {
    destinations.clear();
    for (const each of available) if (each.key) destinations.set(each.key, () => go([each.id]));
  }, [available.length]);
  useEffect(() => {
    setMenu(false);
    document.title = current ? `${current.label} · Postfinch` : "Postfinch";
  }, [current?.id]);
  const next = nextTheme();
  return html`
    <div class="shell">
      <a
        class="visually-hidden"
        href="#main"
        onClick=${(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <${TopBar} menu=${menu} setMenu=${setMenu} setPalette=${setPalette} />
      <div class="scrim ${menu ? "open" : ""}" onClick=${() => setMenu(false)}></div>
      <${Sidebar}
        menu=${menu}
        available=${available}
        current=${current}
        setMenu=${setMenu}
        next=${next}
        setHelp=${setHelp}
        setPalette=${setPalette}
      />
      <${Main} current=${current} />
      <${Overlays} ...${{ available, palette, setPalette, help, setHelp }} />
      <${Questions} />
      <${Toasts} />
    </div>
  `;
}

/** What is loaded when it is first asked for. */
function Overlays({ available, palette, setPalette, help, setHelp }) {
  return html`
    ${
      palette &&
      html`
        <${Lazy}
          load=${styled(() => import("./palette.js"), PAGE_STYLES)}
          around=${nothing}
          available=${available}
          themes=${THEMES}
          setHelp=${setHelp}
          signOut=${signOut}
          onClose=${() => setPalette(false)}
        />
      `
    }
    ${
      help &&
      html`
        <${Lazy}
          load=${styled(() => import("./help.js"), PAGE_STYLES)}
          around=${nothing}
          pages=${available}
          onClose=${() => setHelp(false)}
        />
      `
    }
  `;
}

const Questions = () =>
  question.value &&
  html`<${Lazy} load=${styled(() => import("./dialog.js"), PAGE_STYLES)} around=${nothing} />`;

function Main({ current }) {
  return html`
    <main class="main" id="main" tabindex="-1">
      <${OutgoingBar} />
      ${
        !discovered.value
          ? null
          : current
            ? html`<${Page} key=${current.id} page=${current} />`
            : local.value !== null &&
              html`<${Lazy} load=${() => import("./missing.js")} around=${nothing} />`
      }
    </main>
  `;
}

function Sidebar({ menu, available, current, setMenu, next, setHelp, setPalette }) {
  return html`
    <aside
      class="side ${menu ? "open" : ""}"
      aria-label="Sidebar"
      onKeyDown=${(event) => {
        if (event.key === "Escape") setMenu(false);
      }}
    >
      <a class="brand" href=${href(["overview"])}>
        <img src="icon.svg" alt="" />Postfinch
        ${local.value && html`<span class="stage"><${Badge}>local<//></span>`}
      </a>
      <button type="button" class="find" onClick=${() => setPalette(true)}>
        <${Icon} name="search" />Find<kbd>Ctrl K</kbd>
      </button>
      <${Navigation} available=${listed(available)} current=${current} setMenu=${setMenu} />
      <${SideFoot} next=${next} setHelp=${setHelp} />
    </aside>
  `;
}

function SideFoot({ next, setHelp }) {
  return html`
    <div class="side-foot">
      ${
        subaccounts.value.length > 0 &&
        html`
          <${SelectField}
            label="Act for"
            value=${subaccount.value}
            onChange=${(id) => {
              subaccount.value = id;
            }}
            options=${[
              ["", "Whole account"],
              ["0", "Primary account only"],
              ...subaccounts.value.map((each) => [String(each.id), each.name]),
            ]}
          />
        `
      }
      ${person.value && html`<${PersonMenu} signOut=${signOut} />`}
      <div class="row">
        <span class="clip soft" title=${account.value?.company_name}>
          ${account.value?.company_name ?? person.value?.account?.company_name ?? "Signed in"}
        </span>
        <span class="row">
          <${IconButton}
            icon=${THEMES[themeIndex()][2]}
            kind="ghost small"
            label="Change to: ${next[1]}"
            onClick=${() => {
              theme.value = next[0];
            }}
          />
          <${IconButton}
            icon="circle-help"
            kind="ghost small"
            label="Keyboard shortcuts"
            onClick=${() => setHelp(true)}
          />
          ${
            !person.value &&
            html`
              <${IconButton}
                icon="log-out"
                kind="ghost small"
                label="Sign out"
                onClick=${signOut}
              />
            `
          }
        </span>
      </div>
    </div>
  `;
}

function Navigation({ available, current, setMenu }) {
  return html`
    <nav class="nav" aria-label="Pages">
      ${available.map(
        (each, index) => html`
          ${
            each.group &&
            each.group !== available[index - 1]?.group &&
            html`<span class="nav-title" key=${each.group}>${each.group}</span>`
          }
          <a
            key=${each.id}
            href=${href([each.id])}
            aria-current=${each === current ? "page" : undefined}
            onClick=${() => setMenu(false)}
          >
            <${Icon} name=${each.icon} />
            ${each.label}
          </a>
        `,
      )}
    </nav>
  `;
}

function TopBar({ menu, setMenu, setPalette }) {
  return html`
    <header class="topbar">
      <${IconButton}
        icon="menu"
        label="Open navigation"
        aria-expanded=${menu ? "true" : "false"}
        onClick=${() => setMenu(true)}
      />
      <a class="brand" href=${href(["overview"])}><img src="icon.svg" alt="" />Postfinch</a>
      <${IconButton} icon="search" label="Command palette" onClick=${() => setPalette(true)} />
    </header>
  `;
}

const themeIndex = () => THEMES.findIndex(([id]) => id === theme.value);

function nextTheme() {
  return THEMES[(themeIndex() + 1) % THEMES.length];
}

function Page({ page }) {
  return html`
    <${Lazy}
      load=${styled(page.load, page.styles ?? PAGE_STYLES)}
      around=${(content) => html`<div class="page"><h1>${page.label}</h1>${content}</div>`}
    />
  `;
}
