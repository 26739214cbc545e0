// The filters of the audit log: time, who, what and how it ended; they are kept in the address.
import { html, useEffect, useState } from "../vendor/preact.js";
import {
  ACTORS,
  OF_TIME,
  OUTCOMES,
  RESOURCE_NAMES,
  resourceName,
  spansFor,
} from "../core/audit.js";
import { useSettled } from "../core/resource.js";
import { setQuery } from "../core/router.js";
import { Icon, SelectField, TextField } from "../parts/controls.js";
import { SearchField } from "../parts/search-field.js";

const NAMES = ["days", "actor", "resource", "resource_id", "outcome"];

/** Whether any filter is set. */
export const isFiltered = (query) => NAMES.some((name) => query[name]);

const isType = (actor) => ACTORS.some(([type]) => type === actor);

export function Filters({ query, people }) {
  const { days = "", resource = "", resource_id: id = "", outcome = "" } = query;
  const field = (label, name, value, options) => html`
    <${SelectField}
      hideLabel
      label=${label}
      value=${value}
      options=${options}
      onChange=${(each) => setQuery({ [name]: each })}
    />
  `;
  return html`
    <div class="pane-tools">
      <div class="toolbar">
        <${ActorText} actor=${query.actor ?? ""} />
        ${field("Time", "days", days, spansFor(id))}
        ${field("Who", "actor", isType(query.actor) ? query.actor : "", [
          ["", "Everyone"],
          ...ACTORS,
        ])}
        <${SelectField}
          hideLabel
          label="What"
          value=${resource}
          options=${resourceOptions(resource)}
          onChange=${(each) => setQuery({ resource: each, resource_id: "" })}
        />
        ${field("Outcome", "outcome", outcome, OUTCOMES)}
      </div>
      ${days === OF_TIME && html`<${Days} query=${query} />`}
      ${
        id &&
        html`
          <div class="row wraps">
            <span class="chip">
              <span class="clip">
                <span class="soft">${resourceName(resource)}:</span> ${people[id] ?? id}
              </span>
              <button
                type="button"
                aria-label="Remove the filter for ${id}"
                onClick=${() => setQuery({ resource_id: "" })}
              >
                <${Icon} name="x" />
              </button>
            </span>
          </div>
        `
      }
    </div>
  `;
}

/** The resources to choose from, with one that only the address names. */
const resourceOptions = (resource) => [
  ["", "Everything"],
  ...RESOURCE_NAMES,
  ...(resource && !RESOURCE_NAMES.some(([each]) => each === resource)
    ? [[resource, resourceName(resource)]]
    : []),
];

/** Who did it, as a text; the type of actor beside it takes the same place in the address. */
function ActorText({ actor }) {
  const text = isType(actor) ? "" : actor;
  const [value, setValue] = useState(text);
  const typed = useSettled(value, 300);
  useEffect(() => {
    if (typed.trim() !== text && (typed || text)) setQuery({ actor: typed.trim() });
  }, [typed]);
  useEffect(() => {
    if (text !== typed.trim()) setValue(text);
  }, [text]);
  return html`
    <${SearchField}
      label="Who did it"
      placeholder="Address, key or id"
      value=${value}
      onInput=${setValue}
    />
  `;
}

function Days({ query }) {
  const field = (label, name) => html`
    <${TextField}
      label=${label}
      type="date"
      value=${query[name] ?? ""}
      onInput=${(day) => setQuery({ [name]: day })}
    />
  `;
  return html`
    <div class="form-grid" role="group" aria-label="Days, in UTC">
      ${field("From (UTC)", "from")}
      ${field("To (UTC)", "to")}
    </div>
  `;
}
