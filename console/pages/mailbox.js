// Mailbox: the mail that left through the local sink, as it arrives, and one message beside it.
import { html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { get, put, remove, request } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useMore, useSettled } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, outgoing, shownSubaccount, subaccountName } from "../core/service.js";
import { Button, Icon, IconButton, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, ErrorBox, SkeletonRows } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { SearchField } from "../parts/search-field.js";
import { MessageView } from "./mailbox-message.js";
import { SearchHelp } from "./mailbox-search.js";

const SEND_GRANT = "transmissions/modify";

const PAGE = 500;
const MOST = 50000;
const COLUMNS = [{ label: "Message", width: "minmax(0,1fr)" }];

/** Which mail is shown, and so marked or deleted with "all": the local routes know no key. */
const shownMail = () => ({ q: route.value.query.q, subaccount: shownSubaccount() });
const listQuery = () => ({ ...shownMail(), details: true, limit: PAGE });

/** @typedef {Api.Row<"local/mailbox">} Mail */

/** @type {Api.ListState<Mail> & {counts: any}} */
const LOADING = { rows: [], counts: null, next: null, loading: true, error: null };

export default function Mailbox() {
  const { path, query } = route.value;
  const selected = path[1];
  const [state, setState] = useState(LOADING);
  const { q, text, setText } = useSearch(query);

  const load = useFirstPage(q, setState);

  const more = useOlder(state, setState);

  const connected = useNews(load, setState);

  const { mark, neighbour, drop } = useMessageActions({ setState, state, query, selected });
  const { readAll, empty } = bulkActions({ q, state, query, load });
  useKeys({
    Escape: () => selected && go(["mailbox"], query),
    n: () => neighbour(1),
    p: () => neighbour(-1),
    u: () => selected && mark(selected, true),
    "#": () => selected && drop(selected),
    Delete: () => selected && drop(selected),
  });

  const nothing = !state.rows.length && !state.error && !state.loading;
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Mailbox</h1>
      <div class="panes ${selected ? "open" : nothing && !q ? "alone" : ""}">
        <section class="pane" aria-label="Messages">
          <${Head} connected=${connected} state=${state} q=${q} readAll=${readAll} empty=${empty} />
          <${Tools} text=${text} setText=${setText} />
          <${Found}
            state=${state}
            load=${load}
            q=${q}
            setText=${setText}
            selected=${selected}
            query=${query}
            more=${more}
          />
        </section>
        ${
          selected
            ? html`
              <${MessagePane}
                selected=${selected}
                mark=${mark}
                neighbour=${neighbour}
                query=${query}
                drop=${drop}
              />
            `
            : !(nothing && !q) &&
              html`
                <section class="pane wide-only" aria-label="Message">
                  <${Empty} icon="mail-open" title="No message selected">
                    <kbd>j</kbd> and <kbd>k</kbd> go through the list, <kbd>Enter</kbd> opens.
                  <//>
                </section>
              `
        }
      </div>
    </div>
  `;
}

function Found({ state, load, q, setText, selected, query, more }) {
  const { rows, error, loading } = state;
  const nothing = q ? html`<${NoMatch} setText=${setText} />` : html`<${NoMail} />`;
  return html`
    ${error && html`<div class="pane-note"><${ErrorBox} error=${error} retry=${load} /></div>`}
    ${
      loading && !rows.length
        ? html`<${SkeletonRows} rows=${8} height=${76} />`
        : !rows.length && !error
          ? nothing
          : !error &&
            html`
              <${Messages} state=${state} selected=${selected} more=${more} q=${q} query=${query} />
            `
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

function NoMatch({ setText }) {
  return html`
    <${Empty}
      icon="search"
      title="No message matches"
      actions=${html`<${Button} onClick=${() => setText("")}>Show all mail<//>`}
    >
      The search looks at addresses, subjects and texts of all mail.
    <//>
  `;
}

function Messages({ state, selected, more, q, query }) {
  const { rows, counts } = state;
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
      cells=${(row) => html`<${Row} row=${row} />`}
      foot=${html`
        <p class="grid-foot num">
          ${
            q || shownSubaccount()
              ? `${number(rows.length)} found`
              : plural(counts?.messages ?? rows.length, "message")
          }
          ${counts?.unread && !q && !shownSubaccount() ? `, ${number(counts.unread)} unread` : ""}
        </p>
      `}
    />
  `;
}

function Tools({ text, setText }) {
  return html`
    <div class="pane-tools">
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

function Head({ connected, state, q, readAll, empty }) {
  const { rows, counts } = state;
  const someUnread = q || shownSubaccount() ? rows.some((each) => each.unread) : counts?.unread > 0;
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

/** What is done to all mail that is shown. */
function bulkActions({ q, state, query, load }) {
  const empty = async () => {
    const all = !q && shownSubaccount() === "";
    const amount = all ? (state.counts?.messages ?? 0) : state.rows.length;
    const whose =
      { "": "", 0: " of the primary account" }[shownSubaccount()] ??
      ` of ${subaccountName(Number(shownSubaccount()))}`;
    const what = !all && state.next ? "Every message" : plural(amount, "message");
    const text =
      `${what}${whose}${q ? " that the search finds" : ""} ` +
      `${amount === 1 || state.next ? "is" : "are"} deleted.${all ? "" : " Other mail stays."}`;
    if (
      !(await confirm({
        title: all ? "Delete all mail?" : "Delete all mail shown?",
        text,
        action: "Delete all",
        typed: amount > 100 ? String(amount) : undefined,
      }))
    )
      return;
    if (
      await attempt(() => remove("local/mailbox", shownMail()), all ? "Mailbox emptied" : "Deleted")
    ) {
      go(["mailbox"], query);
      load();
    }
  };
  const readAll = async () => {
    if (
      await attempt(() =>
        request("PUT", "local/mailbox", { query: shownMail(), body: { unread: false } }),
      )
    )
      load();
  };
  return { readAll, empty };
}

function useMessageActions({ setState, state, query, selected }) {
  // A message that is opened and deleted at once is not marked as read after it is gone
  const marking = useRef(Promise.resolve());
  const dropped = useRef("");
  const mark = (id, unread) => {
    if (dropped.current === id) return undefined;
    setState((former) => ({
      ...former,
      rows: former.rows.map((each) => (each.id === id ? { ...each, unread } : each)),
    }));
    marking.current = put(`local/mailbox/${id}`, { unread });
    return marking.current;
  };
  const neighbour = (step) => {
    const index = state.rows.findIndex((each) => each.id === selected);
    const row = state.rows[index + step];
    if (index >= 0 && row) go(["mailbox", row.id], query);
    return row;
  };
  const drop = async (id) => {
    const index = state.rows.findIndex((each) => each.id === id);
    const next = state.rows[index + 1] ?? state.rows[index - 1];
    dropped.current = id;
    await marking.current.catch(() => {});
    if (!(await attempt(() => remove(`local/mailbox/${id}`), "Message deleted"))) {
      dropped.current = "";
      return;
    }
    setState((former) => ({ ...former, rows: former.rows.filter((each) => each.id !== id) }));
    go(next ? ["mailbox", next.id] : ["mailbox"], query, { replace: true });
  };
  return { mark, neighbour, drop };
}

/** Show mail as it arrives; returns whether the connection is there. */
function useNews(load, setState) {
  const arrivals = useArrivals((messages) => {
    if (route.value.query.q || shownSubaccount() !== "") return load();
    return setState((former) => {
      const known = new Set(former.rows.slice(0, 1000).map((each) => each.id));
      return {
        ...former,
        rows: [...messages.filter((each) => !known.has(each.id)), ...former.rows].slice(0, MOST),
        loading: false,
      };
    });
  });
  const connected = useLive({
    message: arrivals,
    mailbox: (counts) =>
      setState((former) =>
        former.counts && counts.messages < former.counts.messages - 1
          ? (load(), former)
          : { ...former, counts },
      ),
    gap: load,
  });
  return connected;
}

/** What loads older mail. */
function useOlder(state, setState) {
  return useMore(
    state,
    setState,
    async (next) => {
      const answer = await get(next);
      return { rows: answer.results, next: answer.links?.next ?? null };
    },
    MOST,
  );
}

/** Load the first page for the present search. */
function useFirstPage(q, setState) {
  const load = useCallback(async () => {
    try {
      const answer = await get("local/mailbox", listQuery());
      setState({
        rows: answer.results,
        counts: answer.counts,
        next: answer.links?.next ?? null,
        loading: false,
        error: null,
      });
    } catch (error) {
      setState((former) => ({ ...former, loading: false, error }));
    }
  }, []);
  useEffect(() => {
    setState((former) => ({ ...former, loading: true }));
    load();
  }, [q, shownSubaccount()]);
  return load;
}

function Row({ row }) {
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
      <span class="clip subject">${row.subject || "(no subject)"}</span>
      <span class="clip soft">${row.snippet || " "}</span>
    </span>
  `;
}

/** Gather messages that arrive together, so that many of them are drawn at once. */
function useArrivals(work) {
  const latest = useRef(work);
  latest.current = work;
  const pending = useRef(/** @type {Mail[]} */ ([]));
  const timer = useRef(0);
  return useCallback((message) => {
    pending.current.unshift(message);
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      latest.current(pending.current.splice(0));
    }, 120);
  }, []);
}
