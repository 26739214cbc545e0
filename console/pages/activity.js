// Activity: every event of every message, live, with the filters of the search in the address.
import { html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { eventDetail, eventType } from "../core/events.js";
import { number } from "../core/format.js";
import { withLetters } from "../core/international.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { useMore, useSettled } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { local, ofSubaccount, shownSubaccount } from "../core/service.js";
import { Badge, Button, IconButton, SelectField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, ErrorBox, SkeletonRows } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { SearchField } from "../parts/search-field.js";
import { Filters, FILTERS } from "./activity-filters.js";
import { EventView } from "./activity-event.js";
import { ExportButton } from "./activity-export.js";

const PAGE = 500;
const MOST = 50000;
const SPANS = [
  ["1", "Last hour"],
  ["24", "Last day"],
  ["72", "Last 3 days"],
  ["240", "Last 10 days"],
];
const COLUMNS = [
  { label: "Event", width: "158px" },
  { label: "Recipient", width: "minmax(140px, 2fr)", class: "wide" },
  { label: "Detail", width: "minmax(120px, 3fr)", class: "wide" },
  { label: "Time", width: "92px", class: "wide right" },
];

/** The query of the search for the filters in the address. */
export function searchQuery(query) {
  const hours = Number(query.hours || 24);
  const search = {
    from: new Date(Date.now() - hours * 3600000).toISOString().slice(0, 19),
    to: new Date(Date.now() + 60000).toISOString().slice(0, 19),
  };
  for (const name of ["events", "recipients", ...Object.keys(FILTERS)])
    if (query[name]) search[name] = query[name];
  return { ...search, ...ofSubaccount() };
}

/** Whether an event of the stream belongs to the search. */
function belongs(event, query) {
  const has = (name, value) =>
    !query[name] ||
    query[name]
      .split(",")
      .some((each) => each.trim().toLowerCase() === String(value ?? "").toLowerCase());
  return (
    has("events", event.type) &&
    has("recipients", event.rcpt_to) &&
    (shownSubaccount() === "" || String(event.subaccount_id ?? 0) === shownSubaccount()) &&
    Object.entries(FILTERS).every(([name, filter]) => has(name, event[filter.field]))
  );
}

/** @type {Api.ListState<Api.Event> & {total: number}} */
const LOADING = { rows: [], total: 0, next: null, loading: true, error: null };

export default function Activity() {
  const { path, query } = route.value;
  const selected = path[1];
  const [state, setState] = useState(LOADING);
  const [paused, setPaused] = useState(false);
  const fresh = useRef(new Set());
  const { hours = "24", ...kept } = query;
  const identity = JSON.stringify([hours, kept, shownSubaccount()]);

  const load = useFirstPage(identity, setState, fresh);

  const more = useOlder(state, setState);

  const arrive = useArrivals(fresh, setState);
  const connected = useLive(
    { event: arrive, gap: () => load(true) },
    { poll: () => load(true), paused },
  );
  useKeys({ Escape: () => selected && go(["activity"], query) });

  const event = state.rows.find((each) => each.event_id === selected);
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Activity</h1>
      <div class="panes ${selected ? "open" : "alone"}">
        <section class="pane" aria-label="Events">
          <${Head}
            connected=${connected}
            paused=${paused}
            state=${state}
            query=${query}
            setPaused=${setPaused}
            load=${load}
          />
          <${Tools} query=${query} hours=${hours} />
          <${Found} state=${state} load=${load} query=${query} selected=${selected} more=${more} />
        </section>
        ${
          selected &&
          html`
            <section class="pane" aria-label="Event">
              <${EventView}
                id=${selected}
                event=${event}
                onClose=${() => go(["activity"], query)}
              />
            </section>
          `
        }
      </div>
    </div>
  `;
}

/** The names of the filters that are in force. */
const activeFilters = (query) => Object.keys(FILTERS).filter((name) => query[name]);

function Found({ state, load, query, selected, more }) {
  const nothing = !state.rows.length && !state.error;
  return html`
    ${
      state.error &&
      html`<div class="pane-note"><${ErrorBox} error=${state.error} retry=${() => load()} /></div>`
    }
    ${
      state.loading && !state.rows.length
        ? html`<${SkeletonRows} rows=${9} height=${45} />`
        : nothing
          ? html`<${Nothing} query=${query} />`
          : html`<${Events} state=${state} selected=${selected} more=${more} query=${query} />`
    }
  `;
}

function Events({ state, selected, more, query }) {
  return html`
    <${List}
      label="Events"
      rows=${state.rows}
      id=${(row) => row.event_id}
      link=${(row) => href(["activity", row.event_id], query)}
      active=${selected}
      name=${(row) => `${eventType(row.type).label}: ${row.rcpt_to}`}
      columns=${COLUMNS}
      rowHeight=${45}
      narrowHeight=${62}
      cells=${cells}
      onEnd=${more}
      foot=${html`
        <p class="grid-foot">
          ${number(state.rows.length)} of${" "}
          ${number(Math.max(state.total, state.rows.length))} events
          ${state.next ? ", more as you scroll" : ""}
        </p>
      `}
    />
  `;
}

function Nothing({ query }) {
  const filtered = activeFilters(query).length > 0 || query.events || query.recipients;
  const about = SPANS.find(([value]) => value === (query.hours ?? "24"))?.[1] ?? "Last day";
  return html`
    <${Empty}
      icon="activity"
      title=${filtered ? "No event matches" : "No event yet"}
      actions=${
        filtered && html`<${Button} onClick=${() => go(["activity"])}>Remove all filters<//>`
      }
    >
      ${
        filtered
          ? "Events are kept for ten days. Another time or fewer filters may find them."
          : `Sending, delivery, bounces, opens and clicks appear here as they ` +
            `happen. ${about}: none.`
      }
    <//>
  `;
}

function Tools({ query, hours }) {
  const [filters, setFilters] = useState(false);
  const [recipient, setRecipient] = useState(query.recipients ?? "");
  const typed = useSettled(recipient, 300);
  const active = activeFilters(query);
  useEffect(() => {
    if (typed !== (query.recipients ?? "")) setQuery({ recipients: typed });
  }, [typed]);
  useEffect(() => {
    if ((query.recipients ?? "") !== typed) setRecipient(query.recipients ?? "");
  }, [query.recipients]);
  return html`
    <div class="pane-tools">
      <div class="toolbar">
        <${SearchField}
          label="Recipient"
          placeholder="Recipient's address"
          value=${recipient}
          onInput=${setRecipient}
        />
        <${SelectField}
          hideLabel
          label="Time"
          value=${hours}
          options=${SPANS}
          onChange=${(value) => setQuery({ hours: value === "24" ? "" : value })}
        />
        <${Button}
          icon="list-filter"
          aria-expanded=${filters ? "true" : "false"}
          onClick=${() => setFilters(true)}
        >
          Filter${active.length ? ` (${active.length})` : ""}
        <//>
      </div>
      <${Types} value=${query.events} />
      <${Filters} open=${filters} query=${query} onClose=${() => setFilters(false)} />
    </div>
  `;
}

function Head({ connected, paused, state, query, setPaused, load }) {
  return html`
    <header class="pane-head">
      <span class="pane-title" aria-hidden="true">Activity</span>
      <span class="live ${connected || (local.value === false && !paused) ? "on" : ""}">
        ${
          paused
            ? "Paused"
            : connected
              ? "Live"
              : local.value === false
                ? "Every 10 s"
                : "Connecting"
        }
      </span>
      <${IconButton}
        icon=${paused ? "play" : "pause"}
        kind="ghost small"
        label=${paused ? "Go on" : "Pause"}
        onClick=${() => {
          setPaused(!paused);
          if (paused) load(true);
        }}
      />
      <${ExportButton} query=${() => searchQuery(route.value.query)} total=${state.total} />
      <${CurlButton} path="api/v1/events/message" query=${searchQuery(query)} />
    </header>
  `;
}

/** @param {Api.Event} event */
const timeOf = (event) => Date.parse(event.timestamp ?? "");

/** What adds an event that has just happened, many of them at once. */
function useArrivals(fresh, setState) {
  const pending = useRef(/** @type {Api.Event[]} */ ([]));
  const flush = useRef(0);
  const arrive = (event) => {
    if (!belongs(event, route.value.query)) return;
    pending.current.push(event);
    flush.current ||= setTimeout(() => {
      flush.current = 0;
      const arrivals = pending.current.splice(0).filter((each) => belongs(each, route.value.query));
      fresh.current = new Set(arrivals.map((each) => each.event_id));
      setState((former) => {
        const seen = new Set(former.rows.slice(0, 2000).map((each) => each.event_id));
        const added = arrivals
          .filter((each) => !seen.has(each.event_id))
          .sort((a, b) => timeOf(b) - timeOf(a));
        return {
          ...former,
          rows: [...added, ...former.rows].slice(0, MOST),
          total: former.total + added.length,
        };
      });
    }, 250);
  };
  return arrive;
}

/** What loads older events. */
function useOlder(state, setState) {
  return useMore(
    state,
    setState,
    async (next) => {
      const answer = await get(next);
      return { rows: answer.results, next: answer.links.next ?? null };
    },
    MOST,
  );
}

/** Load the first page for the present filters. */
function useFirstPage(identity, setState, fresh) {
  const newest = useRef(null);
  const load = useCallback(async (quiet = false) => {
    // An answer to earlier filters may come after that to the present ones
    const asked = (newest.current = {});
    if (!quiet) setState((former) => ({ ...former, loading: true, error: null }));
    try {
      const answer = await get("api/v1/events/message", {
        ...searchQuery(route.value.query),
        per_page: PAGE,
      });
      if (asked === newest.current)
        setState({
          rows: answer.results,
          total: answer.total_count,
          next: answer.links.next ?? null,
          loading: false,
          error: null,
        });
    } catch (error) {
      if (asked === newest.current) setState((former) => ({ ...former, loading: false, error }));
    }
  }, []);
  useEffect(() => {
    fresh.current.clear();
    load();
  }, [identity]);
  return load;
}

const cells = (row, narrow) => {
  const { label, tone, icon } = eventType(row.type);
  if (narrow)
    return html`
      <span role="cell" class="event-lines">
        <span class="row apart">
          <${Badge} tone=${tone} icon=${icon}>${label}<//>
          <span class="soft num"><${Time} at=${row.timestamp} /></span>
        </span>
        <span class="clip">${withLetters(row.rcpt_to)}</span>
      </span>
    `;
  return html`
    <span role="cell"><${Badge} tone=${tone} icon=${icon}>${label}<//></span>
    <span role="cell" class="clip">${withLetters(row.rcpt_to)}</span>
    <span role="cell" class="clip soft" title=${eventDetail(row)}>${eventDetail(row)}</span>
    <span role="cell" class="right soft"><${Time} at=${row.timestamp} /></span>
  `;
};

/** The types that are searched for most, as buttons. */
function Types({ value }) {
  const GROUPS = [
    ["", "All"],
    ["injection", "Sent"],
    ["delivery", "Delivered"],
    ["bounce,out_of_band", "Bounced"],
    ["delay", "Delayed"],
    ["open,initial_open", "Opened"],
    ["click", "Clicked"],
    ["spam_complaint", "Complaints"],
    ["list_unsubscribe,link_unsubscribe", "Unsubscribed"],
  ];
  const current = value ?? "";
  const other = current && !GROUPS.some(([each]) => each === current);
  return html`
    <div class="segments scrolls" role="group" aria-label="Types of events">
      ${[
        ...GROUPS,
        ...(other
          ? [
              [
                current,
                current
                  .split(",")
                  .map((each) => eventType(each).label)
                  .join(", "),
              ],
            ]
          : []),
      ].map(
        ([each, text]) => html`
          <button
            type="button"
            key=${each}
            aria-pressed=${each === current ? "true" : "false"}
            onClick=${() => setQuery({ events: each })}
          >
            ${text}
          </button>
        `,
      )}
    </div>
  `;
}
