// The audit log: who changed what, and who signed in, newest first, with filters in the address.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import {
  AUDIT_LOG,
  isRefused,
  looksOf,
  OF_TIME,
  resourceName,
  searchOf,
  sentenceOf,
} from "../core/audit.js";
import { plural } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { LOADING, readPage, useFirstPage } from "../core/paging.js";
import { useMore, useResource } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { may, shownSubaccount } from "../core/service.js";
import { nameOf, OF_ACCOUNT, USERS } from "../core/users.js";
import { Badge, Button, Icon, IconButton, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, ErrorBox, SkeletonRows } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { Filters, isFiltered } from "./audit-log-filters.js";
import { LineView } from "./audit-log-line.js";
import { SaveButton } from "./audit-log-save.js";

const PAGE = 100;
const MOST = 20000;
const BESIDE_DETAILS = [{ label: "What", width: "minmax(0, 1fr)" }];
const COLUMNS = [
  { label: "What", width: "minmax(200px, 4fr)" },
  { label: "On", width: "150px", class: "wide" },
  { label: "From", width: "130px", class: "wide" },
  { label: "Time", width: "110px", class: "wide right" },
];

const firstQuery = () => ({ ...searchOf(route.value.query), per_page: PAGE });

export default function AuditLog() {
  const { path, query } = route.value;
  const selected = path[1];
  const [state, setState] = useState(LOADING);
  const identity = JSON.stringify([searchKeys(query), shownSubaccount()]);
  const load = useFirstPage(identity, AUDIT_LOG, firstQuery, setState);
  const more = useMore(state, setState, (next) => readPage(next), MOST);
  const people = usePeople();
  const close = () => go(["audit-log"], query);
  useKeys({ Escape: () => selected && close() });
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Audit log</h1>
      <div class="panes ${selected ? "open" : "alone"}">
        <section class="pane" aria-label="Lines">
          <${Head} query=${query} state=${state} load=${load} />
          <${Filters} query=${query} people=${people} />
          <${Lines}
            state=${state}
            load=${load}
            more=${more}
            query=${query}
            selected=${selected}
            people=${people}
          />
        </section>
        ${
          selected &&
          html`
            <section class="pane" aria-label="Line">
              <${LineView}
                key=${selected}
                id=${selected}
                line=${state.rows.find((each) => each.id === selected)}
                people=${people}
                onClose=${close}
              />
            </section>
          `
        }
      </div>
    </div>
  `;
}

/**
 * What of the address the search depends on.
 * @param {Record<string, string>} query
 */
const searchKeys = ({ days, from, to, actor, resource, resource_id: id, outcome }) => [
  days,
  ...(days === OF_TIME ? [from, to] : []),
  actor,
  resource,
  id,
  outcome,
];

/** The names of the account's users by their ids, as far as the viewer may see them. */
function usePeople() {
  const { data } = useResource(async (signal) => {
    if (!may("users/view")) return {};
    const { results } = await get(USERS, undefined, { signal, ...OF_ACCOUNT });
    return Object.fromEntries(results.map((each) => [each.id, nameOf(each)]));
  });
  return data ?? {};
}

function Head({ query, state, load }) {
  return html`
    <header class="pane-head">
      <span class="pane-title" aria-hidden="true">Audit log</span>
      <${IconButton}
        icon="refresh-cw"
        kind="ghost small"
        label="Reload"
        disabled=${state.loading}
        onClick=${load}
      />
      <${SaveButton} query=${query} disabled=${!state.rows.length} />
      <${CurlButton} path=${AUDIT_LOG} query=${searchOf(query)} />
    </header>
  `;
}

function Lines({ state, load, more, query, selected, people }) {
  if (state.error && !state.rows.length)
    return html`<div class="pane-note"><${ErrorBox} error=${state.error} retry=${load} /></div>`;
  if (state.loading && !state.rows.length) return html`<${SkeletonRows} rows=${9} height=${46} />`;
  if (!state.rows.length && state.next) return html`<${NothingYet} more=${more} />`;
  if (!state.rows.length) return html`<${Nothing} query=${query} />`;
  return html`
    ${state.error && html`<div class="pane-note"><${ErrorBox} error=${state.error} /></div>`}
    <${List}
      label="Lines of the audit log"
      rows=${state.rows}
      id=${(row) => row.id}
      link=${(row) => href(["audit-log", row.id], query)}
      name=${(row) => sentenceOf(row, people)}
      active=${selected}
      columns=${selected ? BESIDE_DETAILS : COLUMNS}
      rowHeight=${selected ? 62 : 46}
      narrowHeight=${62}
      cells=${(row, narrow) => cells(row, narrow || selected, people)}
      onEnd=${more}
      foot=${html`
        <p class="grid-foot">
          ${plural(state.rows.length, "line")}${state.next ? ", more as you scroll" : ""}
        </p>
      `}
    />
  `;
}

/** Nothing matched in what was looked through; there is more. */
function NothingYet({ more }) {
  const [busy, setBusy] = useState(false);
  const goOn = async () => {
    setBusy(true);
    await more();
    setBusy(false);
  };
  return html`
    <${Empty}
      icon="search"
      title="No line matches so far"
      actions=${html`<${Button} busy=${busy} onClick=${goOn}>Look further back<//>`}
    >
      The log has older lines that were not looked through yet.
    <//>
  `;
}

function Nothing({ query }) {
  return isFiltered(query)
    ? html`
      <${Empty}
        icon="search"
        title="No line matches"
        actions=${html`<${Button} onClick=${() => go(["audit-log"])}>Remove all filters<//>`}
      >
        Another time or fewer filters may find one.
      <//>
    `
    : html`
      <${Empty} icon="history" title="Nothing was changed in the last 30 days">
        Each change gets a line here: who made it, when, from where, and what was different before.
        Sign-ins and refused changes are here as well.
      <//>
    `;
}

const cells = (row, narrow, people) => {
  const [tone, icon] = looksOf(row);
  const what = html`
    <span class="row">
      <span class="audit-mark ${tone}"><${Icon} name=${icon} /></span>
      <span class="clip">${sentenceOf(row, people)}</span>
      ${isRefused(row) && html`<${Badge} tone="bad">Refused<//>`}
    </span>
  `;
  if (narrow)
    return html`
      <span role="cell" class="event-lines">
        ${what}
        <span class="row apart soft">
          <span class="clip">${resourceName(row.resource)}</span>
          <${Time} at=${row.ts} />
        </span>
      </span>
    `;
  return html`
    <span role="cell">${what}</span>
    <span role="cell" class="clip soft">${resourceName(row.resource)}</span>
    <span role="cell" class="clip soft num">${row.ip || "–"}</span>
    <span role="cell" class="right soft"><${Time} at=${row.ts} /></span>
  `;
};
