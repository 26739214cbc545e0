// The suppression list: the addresses that get no mail, with search, import and export.
import { html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { withLetters } from "../core/international.js";
import { useResource, useSettled } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { nextOf, PATH, searchOf, searchPage, SOURCES, TYPES } from "../core/suppressions.js";
import { Badge, Button, SelectField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { ExportButton } from "../parts/export.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { SearchField } from "../parts/search-field.js";
import { AddDialog } from "./audience-suppression-add.js";
import { Filters, NAMES } from "./audience-suppression-filters.js";
import { ImportDialog } from "./audience-suppression-import.js";

const FIELDS = [
  "recipient",
  "type",
  "source",
  "description",
  "list_id",
  "subaccount_id",
  "created",
  "updated",
];
const BESIDE_DETAILS = [{ label: "Recipient", width: "minmax(0, 1fr)" }];
const COLUMNS = [
  { label: "Recipient", width: "minmax(140px, 3fr)" },
  { label: "Source", width: "190px", class: "wide" },
  { label: "Holds back", width: "150px", class: "wide" },
  { label: "Updated", width: "96px", class: "wide right" },
];

export function Suppressions({ selected, version, onChange }) {
  const { query } = route.value;
  const [recipient, setRecipient] = useState(query.recipient ?? "");
  const typed = useSettled(recipient, 300);
  const [dialog, setDialog] = useState("");
  const identity = JSON.stringify(query);
  const resource = useResource((signal) => searchPage(query, signal), [identity, version]);
  useEffect(() => {
    if (typed !== (query.recipient ?? "")) setQuery({ recipient: typed });
  }, [typed]);
  useEffect(() => {
    if ((query.recipient ?? "") !== typed) setRecipient(query.recipient ?? "");
  }, [query.recipient]);
  const { more, next } = useMoreEntries(resource);
  const [path, parameters] = searchOf(query);
  const filtered = ["recipient", "type", "source", ...Object.keys(NAMES)].some(
    (name) => query[name],
  );
  const add = html`<${Button} kind="primary" icon="plus" onClick=${() => setDialog("add")}>Add<//>`;
  return html`
    <div class="pane-tools">
      <${Toolbar}
        recipient=${recipient}
        setRecipient=${setRecipient}
        query=${query}
        path=${path}
        resource=${resource}
        parameters=${parameters}
        add=${add}
        setDialog=${setDialog}
      />
      <${Sources} value=${query.source ?? ""} version=${version} />
      <${Filters} open=${dialog === "filter"} query=${query} onClose=${() => setDialog("")} />
    </div>
    <${Entries}
      resource=${resource}
      selected=${selected}
      more=${more}
      next=${next}
      filtered=${filtered}
      add=${add}
      query=${query}
      setRecipient=${setRecipient}
    />
    ${dialog === "add" && html`<${AddDialog} onClose=${() => setDialog("")} onSaved=${onChange} />`}
    ${
      dialog === "import" &&
      html`<${ImportDialog} onClose=${() => setDialog("")} onSaved=${onChange} />`
    }
  `;
}

function useMoreEntries(resource) {
  const loading = useRef(false);
  const next = resource.data?.next;
  const more = useCallback(async () => {
    if (!next || loading.current) return;
    loading.current = true;
    try {
      const answer = await get(next);
      resource.set((former) =>
        former.next === next
          ? { ...former, results: [...former.results, ...answer.results], next: nextOf(answer) }
          : former,
      );
    } finally {
      loading.current = false;
    }
  }, [next]);
  return { more, next };
}

function Entries({ resource, selected, more, next, filtered, add, query, setRecipient }) {
  return html`
    <${Loaded} resource=${resource}>
      ${({ results, total }) =>
        results.length
          ? html`
            <${List}
              label="Suppressed recipients"
              rows=${results}
              id=${keyOf}
              active=${keyOf(results.find((each) => each.recipient === selected) ?? {})}
              cells=${(row, narrow) => cells(row, narrow || selected)}
              link=${(row) => href(["audience", "suppressions", row.recipient], query)}
              name=${(row) => `${row.recipient}, ${TYPES[row.type]}`}
              columns=${selected ? BESIDE_DETAILS : COLUMNS}
              rowHeight=${selected ? 62 : 46}
              narrowHeight=${62}
              onEnd=${more}
              foot=${html`
                <p class="grid-foot">
                  ${number(results.length)} of ${plural(total, "entry", "entries")}
                  ${next ? ", more as you scroll" : ""}
                </p>
              `}
            />
          `
          : html`
            <${Empty}
              icon="user-x"
              title=${filtered ? "No entry matches" : "Nobody is suppressed"}
              actions=${
                filtered
                  ? html`
                    <${Button}
                      onClick=${() => {
                        setRecipient("");
                        go(["audience", "suppressions"]);
                      }}
                    >
                      Remove all filters
                    <//>
                  `
                  : add
              }
            >
              ${
                filtered
                  ? "This address gets mail, or fewer filters find it."
                  : "An address that bounces for good, complains or unsubscribes is added by " +
                    "itself and gets no more mail."
              }
            <//>
          `}
    <//>
  `;
}

function Toolbar({ recipient, setRecipient, query, path, resource, parameters, add, setDialog }) {
  return html`
    <div class="toolbar">
      <${SearchField} label="Recipient or domain" value=${recipient} onInput=${setRecipient} />
      <${SelectField}
        hideLabel
        label="Type"
        value=${query.type ?? ""}
        options=${[["", "All types"], ...Object.entries(TYPES)]}
        onChange=${(type) => setQuery({ type })}
      />
      <${Button} icon="list-filter" onClick=${() => setDialog("filter")}>Filter<//>
      <${Button} icon="upload" onClick=${() => setDialog("import")}>Import<//>
      <${ExportButton}
        path=${path}
        query=${() => ({ ...parameters, per_page: 10000 })}
        next=${nextOf}
        fields=${FIELDS}
        noun="entry"
        many="entries"
        name="suppressions"
        total=${resource.data?.total}
      />
      <${CurlButton} path=${path} query=${parameters} />
      ${add}
    </div>
  `;
}

export const keyOf = (entry) =>
  [entry.recipient, entry.type, entry.list_id ?? "", entry.subaccount_id ?? ""].join(" ");

export function Source({ name }) {
  const [, tone, icon] = SOURCES[name] ?? ["", "", "circle"];
  return html`<${Badge} tone=${tone} icon=${icon}>${name}<//>`;
}

function cells(row, narrow) {
  if (narrow) {
    return html`
      <span role="cell" class="event-lines">
        <span class="row apart">
          <span class="clip strong">${withLetters(row.recipient)}</span>
          <span class="soft"><${Time} at=${row.updated} /></span>
        </span>
        <span class="event-sub">
          <${Source} name=${row.source} />
          <span class="clip">${TYPES[row.type]}</span>
        </span>
      </span>
    `;
  }
  return html`
    <span role="cell" class="clip">${withLetters(row.recipient)}</span>
    <span role="cell"><${Source} name=${row.source} /></span>
    <span role="cell" class="clip soft">
      ${TYPES[row.type]}
      ${row.list_id ? `, ${row.list_id}` : ""}
    </span>
    <span role="cell" class="right soft"><${Time} at=${row.updated} /></span>
  `;
}

/** How many entries there are by source, each a filter. */
function Sources({ value, version }) {
  const { data } = useResource(
    (signal) => get(`${PATH}/summary`, undefined, { signal }),
    [version],
  );
  const counts = data?.results ?? {};
  const options = [
    ["", "All", counts.total],
    ...Object.entries(SOURCES).map(([name, [key]]) => [name, name, counts[key]]),
  ];
  return html`
    <div class="segments scrolls" role="group" aria-label="Sources">
      ${options.map(
        ([each, text, count]) => html`
          <button
            type="button"
            key=${each}
            aria-pressed=${each === value ? "true" : "false"}
            onClick=${() => setQuery({ source: each })}
          >
            ${text}
            ${count !== undefined && html` <span class="num soft">${number(count)}</span>`}
          </button>
        `,
      )}
    </div>
  `;
}
