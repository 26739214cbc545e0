// The frame of every page: navigation, subaccount switch, theme, palette and help.
import { html, useEffect, useState } from "../vendor/preact.js";
import { searches } from "../core/find.js";
import { destinations, useKeys } from "../core/keys.js";
import { leave } from "../core/people.js";
import { go, href, route } from "../core/router.js";
import { account, discovered, local, may, subaccounts, version } from "../core/service.js";
import { person, subaccount, theme } from "../core/session.js";
import { mayOpen, PAGES } from "../pages/registry.js";
import { Badge, Icon, IconButton, SelectField } from "./controls.js";
import { Dialog, Questions } from "./dialog.js";
import { attempt, Toasts } from "./feedback.js";
import { Lazy } from "./lazy.js";
import { OutgoingBar } from "./outgoing.js";
import { Palette } from "./palette.js";
import { PersonMenu } from "./person-menu.js";
import { Ungranted } from "./ungranted.js";

const THEMES = [
  ["auto", "Theme of the system", "monitor"],
  ["light", "Light theme", "sun"],
  ["dark", "Dark theme", "moon"],
];
const SHORTCUTS = [
  ["Command palette", ["Ctrl", "K"]],
  ["Search on this page", ["/"]],
  ["Next row", ["j"]],
  ["Row before", ["k"]],
  ["Open the row", ["Enter"]],
  ["This help", ["?"]],
  ["Close", ["Esc"]],
];

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
  const commands = commandsOf(available, setHelp);
  const find = finderOf(available);
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
      ${
        palette &&
        html`<${Palette} commands=${commands} find=${find} onClose=${() => setPalette(false)} />`
      }
      ${help && html`<${Help} pages=${available} onClose=${() => setHelp(false)} />`}
      <${Questions} />
      <${Toasts} />
    </div>
  `;
}

function Main({ current }) {
  return html`
    <main class="main" id="main" tabindex="-1">
      <${OutgoingBar} />
      ${
        !discovered.value
          ? null
          : current
            ? html`<${Page} key=${current.id} page=${current} />`
            : local.value !== null && html`<${Missing} />`
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

/** What searches for a text in the pages that are there. */
function finderOf(available) {
  return (text) =>
    searches(text)
      .filter(({ page, grant }) => may(grant) && available.some(({ id }) => id === page))
      .map((each) => ({ ...each, run: () => go(each.path, each.query) }));
}

/** What the palette offers. */
function commandsOf(available, setHelp) {
  return [
    ...available.map((each) => ({
      label: each.label,
      icon: each.icon,
      run: () => go([each.id]),
      keys: each.key && ["g", each.key],
    })),
    ...available.flatMap((each) =>
      (each.actions ?? []).map((action) => ({
        ...action,
        run: () => go(action.path, action.query),
      })),
    ),
    ...THEMES.map(([id, label, icon]) => ({
      label,
      icon,
      run: () => {
        theme.value = id;
      },
    })),
    { label: "Keyboard shortcuts", icon: "keyboard", run: () => setHelp(true), keys: ["?"] },
    { label: "Sign out", icon: "log-out", run: signOut },
  ];
}

function Page({ page }) {
  return html`
    <${Lazy}
      load=${page.load}
      around=${(content) => html`<div class="page"><h1>${page.label}</h1>${content}</div>`}
    />
  `;
}

function Missing() {
  const page = PAGES.find((each) => each.id === route.value.path[0] && !each.local);
  if (page?.person)
    return html`
      <div class="page">
        <h1>${page.label}</h1>
        <p class="soft">An API key has none. Sign in as a person to see yours.</p>
      </div>
    `;
  if (page)
    return html`
      <div class="page">
        <h1>${page.label}</h1>
        <${Ungranted} what="this page" grant=${page.grant} />
      </div>
    `;
  return html`
    <div class="page">
      <h1>This page is not here</h1>
      <p class="soft">
        The address names no page of this service that you may open. The navigation lists those that
        there are.
      </p>
    </div>
  `;
}

function Help({ pages: available, onClose }) {
  const going = available.filter((each) => each.key).map((each) => [each.label, ["g", each.key]]);
  return html`
    <${Dialog} title="Keyboard shortcuts" wide onClose=${onClose}>
      <dl class="shortcuts">
        ${[...SHORTCUTS, ...going].map(
          ([label, keys]) => html`
            <div key=${label}>
              <dt>${label}</dt>
              <dd>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dd>
            </div>
          `,
        )}
      </dl>
      <p class="faint">Postfinch ${version.value}</p>
    <//>
  `;
}
