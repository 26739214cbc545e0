// The recipient lists of the account.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { Button } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { SearchField } from "../parts/search-field.js";
import { ListForm } from "./audience-list-form.js";

export const PATH = "api/v1/recipient-lists";
const BESIDE_DETAILS = [{ label: "Name", width: "minmax(0, 1fr)" }];
const COLUMNS = [
  { label: "Name", width: "minmax(140px, 3fr)" },
  { label: "Id", width: "minmax(100px, 2fr)", class: "wide" },
  { label: "Recipients", width: "100px", class: "wide right" },
];

export function Lists({ selected, version, onChange }) {
  const { query } = route.value;
  const resource = useResource((signal) => get(PATH, undefined, { signal }), [version]);
  const [creating, setCreating] = useState(false);
  const create = html`
    <${Button} kind="primary" icon="plus" onClick=${() => setCreating(true)}>New list<//>
  `;
  const needle = (query.q ?? "").toLowerCase();
  const cells = (row, narrow) =>
    narrow || selected
      ? html`
        <span role="cell" class="event-lines">
          <span class="clip strong">${row.name}</span>
          <span class="soft clip">${plural(row.total_accepted_recipients, "recipient")}</span>
        </span>
      `
      : html`
        <span role="cell" class="clip">
          <span class="strong">${row.name}</span>
          ${row.description && html` <span class="soft">${row.description}</span>`}
        </span>
        <span role="cell" class="clip mono soft">${row.id}</span>
        <span role="cell" class="right num">${number(row.total_accepted_recipients)}</span>
      `;
  return html`
    <div class="pane-tools">
      <div class="toolbar">
        <${SearchField}
          label="Search lists"
          value=${query.q ?? ""}
          onInput=${(q) => setQuery({ q })}
        />
        <${CurlButton} path=${PATH} />
        ${create}
      </div>
    </div>
    <${ListsFound}
      resource=${resource}
      create=${create}
      selected=${selected}
      cells=${cells}
      needle=${needle}
      query=${query}
    />
    ${
      creating &&
      html`
        <${ListForm}
          ids=${(resource.data?.results ?? []).map((each) => each.id)}
          onClose=${() => setCreating(false)}
          onSaved=${onChange}
        />
      `
    }
  `;
}

function ListsFound({ resource, create, selected, cells, needle, query }) {
  return html`
    <${Loaded} resource=${resource}>
      ${({ results }) => {
        const rows = results.filter((each) =>
          [each.name, each.id, each.description].some((text) =>
            text.toLowerCase().includes(needle),
          ),
        );
        if (!results.length)
          return html`
            <${Empty} icon="users" title="No recipient list yet" actions=${create}>
              A list holds up to 100,000 recipients, each with data of its own. A transmission names
              the list instead of its recipients.
            <//>
          `;
        if (!rows.length)
          return html`
            <${Empty}
              icon="search"
              title="No list matches"
              actions=${html`<${Button} onClick=${() => setQuery({ q: "" })}>Show all lists<//>`}
            />
          `;
        return html`
          <${List}
            label="Recipient lists"
            rows=${rows}
            id=${(row) => row.id}
            link=${(row) => href(["audience", "lists", row.id], query)}
            name=${(row) => row.name}
            active=${selected}
            columns=${selected ? BESIDE_DETAILS : COLUMNS}
            rowHeight=${selected ? 62 : 46}
            cells=${cells}
            foot=${html`<p class="grid-foot">${plural(rows.length, "list")}</p>`}
          />
        `;
      }}
    <//>
  `;
}
