// The filters of received mail: subject, addresses, domain, time and what became of it.
import { html, useEffect, useState } from "../vendor/preact.js";
import { OUTCOMES } from "../core/received.js";
import { useSettled } from "../core/resource.js";
import { setQuery } from "../core/router.js";
import { SelectField } from "../parts/controls.js";
import { SearchField } from "../parts/search-field.js";

const DAYS = [
  ["", "Ten days"],
  ["1", "Last day"],
  ["3", "Last 3 days"],
];

export function Filters({ query }) {
  const { days = "", action = "" } = query;
  return html`
    <div class="pane-tools">
      <div class="toolbar compact">
        <${TextFilter} name="subject" label="Subject" query=${query} />
        <${TextFilter} name="sender" label="From" query=${query} />
        <${TextFilter} name="recipient" label="To" query=${query} />
        <${TextFilter} name="domain" label="Domain" query=${query} />
        <${SelectField}
          hideLabel
          label="Time"
          value=${days}
          options=${DAYS}
          onChange=${(each) => setQuery({ days: each })}
        />
        <${SelectField}
          hideLabel
          label="What became of it"
          value=${action}
          options=${[
            ["", "All outcomes"],
            ...Object.entries(OUTCOMES).map(([each, [text]]) => [each, text]),
          ]}
          onChange=${(each) => setQuery({ action: each })}
        />
      </div>
    </div>
  `;
}

/** A text that is put into the address once nobody types any more. */
function TextFilter({ name, label, query }) {
  const text = query[name] ?? "";
  const [value, setValue] = useState(text);
  const typed = useSettled(value, 300);
  useEffect(() => {
    if (typed.trim() !== text) setQuery({ [name]: typed.trim() });
  }, [typed]);
  useEffect(() => {
    if (text !== typed.trim()) setValue(text);
  }, [text]);
  return html`
    <${SearchField}
      label=${label}
      value=${value}
      onInput=${setValue}
      shortcut=${name === "subject"}
    />
  `;
}
