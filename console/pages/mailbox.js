// Mailbox: the mail that left through the local sink, as it arrives, and one message beside it.
import { html, useEffect, useState } from "../vendor/preact.js";
import { number, plural } from "../core/format.js";
import { inboxKey, inboxName, useInboxes } from "../core/inboxes.js";
import { useKeys } from "../core/keys.js";
import { learnReleasing, releasing } from "../core/releasing.js";
import { useSettled } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, outgoing, shownSubaccount } from "../core/service.js";
import { Badge, Button, Icon, IconButton, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { attempt, Empty, ErrorBox, SkeletonRows } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { AlarmBar } from "../parts/outgoing.js";
import { SearchField } from "../parts/search-field.js";
import { bulkActions, useMessageActions } from "./mailbox-actions.js";
import { InboxChoice } from "./mailbox-inboxes.js";
import { MOST, shownMail, useFirstPage, useNews, useOlder } from "./mailbox-loading.js";
import { MessageView } from "./mailbox-message.js";
import { SearchHelp } from "./mailbox-search.js";

const SEND_GRANT = "transmissions/modify";

const COLUMNS = [{ label: "Message", width: "minmax(0,1fr)" }];

/** @typedef {import("./mailbox-loading.js").Mail} Mail */

/** @type {Api.ListState<Mail> & {counts: any}} */
const LOADING = { rows: [], counts: null, next: null, loading: true, error: null };

export default function Mailbox() {
  const { path, query } = route.value;
  const selected = path[1];
  const [state, setState] = useState(LOADING);
  const { q, text, setText } = useSearch(query);

  const load = useFirstPage(query, setState);
  const more = useOlder(state, setState);
  const connected = useNews(load, setState);
  useEffect(() => {
    attempt(learnReleasing);
  }, []);
  const inboxes = useInboxes();
  const counts = shownCounts(state, inboxes);

  const actions = useMessageActions({ setState, state, query, selected });
  const { mark, neighbour, drop } = actions;
  const { readAll, empty } = bulkActions({ state, query, load, total: counts?.messages ?? null });
  useKeys({
    Escape: () => selected && go(["mailbox"], query),
    n: () => neighbour(1),
    p: () => neighbour(-1),
    u: () => selected && mark(selected, true),
    "#": () => selected && drop(selected),
    Delete: () => selected && drop(selected),
  });

  const nothing = !state.rows.length && !state.error && !state.loading && !q && !query.inbox;
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Mailbox</h1>
      <${AlarmBar} text=${releasing.value.warning} />
      <div class="panes ${selected ? "open" : nothing ? "alone" : ""}">
        <section class="pane" aria-label="Messages">
          <${Head}
            connected=${connected}
            rows=${state.rows}
            counts=${counts}
            readAll=${readAll}
            empty=${empty}
          />
          <${Tools} text=${text} setText=${setText} inboxes=${inboxes} inbox=${query.inbox ?? ""} />
          <${Found}
            state=${state}
            counts=${counts}
            load=${load}
            setText=${setText}
            selected=${selected}
            query=${query}
            more=${more}
            isMixed=${!query.inbox && inboxes.length > 1}
          />
        </section>
        ${
          selected
            ? html`<${MessagePane} selected=${selected} query=${query} ...${actions} />`
            : !nothing && html`<${NoMessage} />`
        }
      </div>
    </div>
  `;
}

function NoMessage() {
  return html`
    <section class="pane wide-only" aria-label="Message">
      <${Empty} icon="mail-open" title="No message selected">
        <kbd>j</kbd> and <kbd>k</kbd> go through the list, <kbd>Enter</kbd> opens.
      <//>
    </section>
  `;
}

/** The numbers of messages and of unread ones of all that is shown; null if they are not known. */
function shownCounts({ counts }, inboxes) {
  const { q, inbox } = route.value.query;
  if (q || shownSubaccount()) return null;
  if (!inbox) return counts;
  return inboxes.find((each) => inboxKey(each.name) === inbox) ?? { messages: 0, unread: 0 };
}

function Found({ state, load, setText, query, ...rest }) {
  const { rows, error, loading } = state;
  const nothing = query.q
    ? html`<${NoMatch} setText=${setText} inbox=${query.inbox} />`
    : query.inbox
      ? html`<${NoMailThere} inbox=${query.inbox} />`
      : html`<${NoMail} />`;
  return html`
    ${error && html`<div class="pane-note"><${ErrorBox} error=${error} retry=${load} /></div>`}
    ${
      loading && !rows.length
        ? html`<${SkeletonRows} rows=${8} height=${76} />`
        : !rows.length && !error
          ? nothing
          : !error && html`<${Messages} state=${state} query=${query} ...${rest} />`
    }
  `;
}

/** The search: what is typed, and what the address says. */
function useSearch(query) {
  const [text, setText] = useState(query.q ?? "");
  const typed = useSettled(text, 250);
  const q = query.q ?? "";

  useEffect(() => {
    if (typed !== q) setQuery({ q: typed });
  }, [typed]);
  useEffect(() => {
    if (q !== typed) setText(q);
  }, [q]);
  return { q, text, setText };
}

function MessagePane({ selected, mark, neighbour, query, drop }) {
  return html`
    <section class="pane" aria-label="Message">
      <${MessageView}
        key=${selected}
        id=${selected}
        onClose=${() => go(["mailbox"], query)}
        onDrop=${() => drop(selected)}
        mark=${mark}
        neighbour=${neighbour}
      />
    </section>
  `;
}

function NoMail() {
  return html`
    <${Empty}
      icon="inbox"
      title="No mail yet"
      actions=${
        may(SEND_GRANT) &&
        html`
          <${Button} kind="primary" href=${href(["overview"])}>
            Send the first message
          <//>
        `
      }
    >
      ${
        outgoing.value
          ? `${outgoing.value} It does not come here.`
          : "Everything that this service sends is caught here, and nothing leaves this machine. " +
            "New mail appears at once."
      }
    <//>
  `;
}

function NoMatch({ setText, inbox }) {
  return html`
    <${Empty}
      icon="search"
      title="No message matches"
      actions=${html`<${Button} onClick=${() => setText("")}>Show all mail<//>`}
    >
      The search looks at addresses, subjects and texts of all mail
      ${inbox ? ` of the inbox “${inboxName(inbox)}”` : ""}.
    <//>
  `;
}

function NoMailThere({ inbox }) {
  return html`
    <${Empty}
      icon="inbox"
      title="This inbox is empty"
      actions=${html`<${Button} href=${href(["mailbox"])}>Show all mail<//>`}
    >
      “${inboxName(inbox)}” has no messages. New mail appears at once.
    <//>
  `;
}

function Messages({ state, counts, selected, more, query, isMixed }) {
  const { rows } = state;
  return html`
    <${List}
      label="Messages"
      rows=${rows}
      id=${(row) => row.id}
      link=${(row) => href(["mailbox", row.id], query)}
      active=${selected}
      columns=${COLUMNS}
      plain
      rowHeight=${76}
      narrowHeight=${76}
      onEnd=${more}
      name=${(row) =>
        `${row.unread ? "Unread: " : ""}${row.subject || "No subject"}, to ` + `${row.to}`}
      cells=${(row) => html`<${Row} row=${row} isMixed=${isMixed} />`}
      foot=${html`<${Foot} rows=${rows} counts=${counts} />`}
    />
  `;
}

function Foot({ rows, counts }) {
  const text = counts
    ? plural(Math.max(counts.messages, rows.length), "message") +
      (counts.unread ? `, ${number(counts.unread)} unread` : "")
    : `${number(rows.length)} found`;
  const isCut = rows.length >= MOST && "; search for older ones than the newest " + number(MOST);
  return html`<p class="grid-foot num">${text}${isCut}</p>`;
}

function Tools({ text, setText, inboxes, inbox }) {
  return html`
    <div class="pane-tools">
      <${InboxChoice} inboxes=${inboxes} chosen=${inbox} />
      <div class="toolbar">
        <${SearchField}
          label="Search mail"
          placeholder="Search, such as to:anna is:unread"
          value=${text}
          onInput=${setText}
        />
        <${SearchHelp} onPick=${(part) => setText(`${text} ${part}`.trim())} />
      </div>
    </div>
  `;
}

function Head({ connected, rows, counts, readAll, empty }) {
  const someUnread = counts ? counts.unread > 0 : rows.some((each) => each.unread);
  return html`
    <header class="pane-head">
      <span class="pane-title" aria-hidden="true">Mailbox</span>
      <span class="live ${connected ? "on" : ""}">${connected ? "Live" : "Connecting"}</span>
      ${
        someUnread &&
        html`
          <${IconButton}
            icon="mail-check"
            kind="ghost small"
            label="Mark all as read"
            onClick=${readAll}
          />
        `
      }
      <${IconButton}
        icon="trash-2"
        kind="ghost small"
        label="Delete all"
        disabled=${!rows.length}
        onClick=${empty}
      />
      <${CurlButton} path="local/mailbox" query=${{ ...shownMail(), details: true }} />
    </header>
  `;
}

function Row({ row, isMixed }) {
  return html`
    <span role="cell" class="mail-row ${row.unread ? "unread" : ""}">
      <span class="row">
        <span class="clip grow who">${row.to}</span>
        ${
          row.attachments > 0 &&
          html`<${Icon} name="paperclip" label="${plural(row.attachments, "attachment")}" />`
        }
        <span class="soft"><${Time} at=${row.received_at} /></span>
      </span>
      <span class="row">
        <span class="clip grow subject">${row.subject || "(no subject)"}</span>
        ${isMixed && row.inbox && html`<${Badge} icon="inbox">${row.inbox}<//>`}
      </span>
      <span class="clip soft">${row.snippet || " "}</span>
    </span>
  `;
}
