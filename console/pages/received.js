// Received mail: messages to inbound domains, newest first, with filters in the address.
import { html, useState } from "../vendor/preact.js";
import { plural } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { LOADING, readPage, useFirstPage } from "../core/paging.js";
import { FILTERS, OUTCOMES, RECEIVED, searchOf } from "../core/received.js";
import { useInterval, useMore } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { shownSubaccount } from "../core/service.js";
import { Badge, Button, Icon, IconButton, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, ErrorBox, SkeletonRows } from "../parts/feedback.js";
import { pageHref } from "../parts/links.js";
import { List } from "../parts/list.js";
import { Filters } from "./received-filters.js";
import { ReceivedMessage } from "./received-message.js";

const PAGE = 100;
const MOST = 20000;
const SECONDS = 10;
const BESIDE_MESSAGE = [{ label: "Message", width: "minmax(0, 1fr)" }];
const COLUMNS = [
  { label: "From", width: "minmax(160px, 2fr)" },
  { label: "Subject", width: "minmax(200px, 4fr)" },
  { label: "To", width: "minmax(140px, 2fr)", class: "wide" },
  { label: "What became of it", width: "150px", class: "wide" },
  { label: "Received", width: "110px", class: "wide right" },
];

const firstQuery = () => ({ ...searchOf(route.value.query), per_page: PAGE });

export default function Received() {
  const { path, query } = route.value;
  const selected = path[1];
  const [state, setState] = useState(LOADING);
  const identity = JSON.stringify([FILTERS.map((each) => query[each]), shownSubaccount()]);
  const load = useFirstPage(identity, RECEIVED, firstQuery, setState);
  const more = useMore(state, setState, (next) => readPage(next), MOST);
  const close = () => go(["received"], query);
  // What has come in meanwhile is shown, unless somebody reads further down
  useInterval(load, state.rows.length <= PAGE ? SECONDS : 0);
  useKeys({ Escape: () => selected && close() });
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Received mail</h1>
      <div class="panes ${selected ? "open" : "alone"}">
        <section class="pane" aria-label="Messages">
          <header class="pane-head">
            <span class="pane-title" aria-hidden="true">Received mail</span>
            <${IconButton}
              icon="refresh-cw"
              kind="ghost small"
              label="Reload"
              disabled=${state.loading}
              onClick=${load}
            />
            <${CurlButton} path=${RECEIVED} query=${searchOf(query)} />
          </header>
          <${Filters} query=${query} />
          <${Messages}
            state=${state}
            load=${load}
            more=${more}
            query=${query}
            selected=${selected}
          />
        </section>
        ${
          selected &&
          html`
            <section class="pane" aria-label="Message">
              <${ReceivedMessage}
                key=${selected}
                id=${selected}
                onClose=${close}
                onDeleted=${() => {
                  close();
                  load();
                }}
              />
            </section>
          `
        }
      </div>
    </div>
  `;
}

function Messages({ state, load, more, query, selected }) {
  if (state.error && !state.rows.length)
    return html`<div class="pane-note"><${ErrorBox} error=${state.error} retry=${load} /></div>`;
  if (state.loading && !state.rows.length) return html`<${SkeletonRows} rows=${9} height=${46} />`;
  if (!state.rows.length)
    return html`<${Nothing} query=${query} next=${state.next} more=${more} />`;
  return html`
    ${state.error && html`<div class="pane-note"><${ErrorBox} error=${state.error} /></div>`}
    <${List}
      label="Received messages"
      rows=${state.rows}
      id=${(row) => row.id}
      link=${(row) => href(["received", row.id], query)}
      name=${(row) => `${row.subject || "(no subject)"}, from ${senderOf(row)}`}
      active=${selected}
      columns=${selected ? BESIDE_MESSAGE : COLUMNS}
      rowHeight=${selected ? 62 : 46}
      narrowHeight=${62}
      cells=${(row, narrow) => cells(row, narrow || selected)}
      onEnd=${more}
      foot=${html`
        <p class="grid-foot">
          ${plural(state.rows.length, "message")}${state.next ? ", more as you scroll" : ""}
        </p>
      `}
    />
  `;
}

function Nothing({ query, next, more }) {
  if (next)
    return html`
      <${Empty}
        icon="search"
        title="No message matches so far"
        actions=${html`<${Button} onClick=${more}>Look further back<//>`}
      >
        There are older messages that were not looked through yet.
      <//>
    `;
  if (FILTERS.some((each) => query[each]))
    return html`
      <${Empty}
        icon="search"
        title="No message matches"
        actions=${html`<${Button} onClick=${() => go(["received"])}>Remove all filters<//>`}
      >
        Fewer filters may find one. Messages are kept for ten days.
      <//>
    `;
  const domains = pageHref(["domains"], { kind: "inbound" });
  return html`
    <${Empty}
      icon="mail-open"
      title="No mail has come in yet"
      actions=${domains && html`<${Button} href=${domains}>Inbound domains<//>`}
    >
      Messages to your inbound domains are here for ten days. Add a domain, publish its MX record,
      and send a mail to any address at it.
    <//>
  `;
}

const senderOf = (row) => row.friendly_from || row.msg_from || "nobody (a report)";

const cells = (row, narrow) => {
  const [text, tone, icon] = OUTCOMES[row.action] ?? [row.action, "", "circle"];
  const clip = row.attachments > 0 && html` <${Icon} name="paperclip" label="With attachments" />`;
  if (narrow)
    return html`
      <span role="cell" class="event-lines">
        <span class="row apart">
          <span class="row nowrap">
            <span class="clip strong">${row.subject || "(no subject)"}</span>${clip}
          </span>
          <span class="soft"><${Time} at=${row.received_at} /></span>
        </span>
        <span class="row apart soft">
          <span class="clip">${senderOf(row)} → ${row.rcpt_to}</span>
        </span>
      </span>
    `;
  return html`
    <span role="cell" class="clip">${senderOf(row)}</span>
    <span role="cell" class="row nowrap">
      <span class="clip strong">${row.subject || "(no subject)"}</span>${clip}
    </span>
    <span role="cell" class="clip soft">${row.rcpt_to}</span>
    <span role="cell"><${Badge} tone=${tone} icon=${icon}>${text}<//></span>
    <span role="cell" class="right soft"><${Time} at=${row.received_at} /></span>
  `;
};
