// The filters of the suppression list that are used less often.
import { html, useState } from "../vendor/preact.js";
import { setQuery } from "../core/router.js";
import { Icon, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";

/** Parameter of the address → what the filter is called. */
export const NAMES = {
  from: "Updated from",
  to: "Updated until",
  list: "Mailing list",
  text: "Description",
};

export function Filters({ open, query, onClose }) {
  const active = Object.keys(NAMES).filter((name) => query[name]);
  return html`
    ${
      active.length > 0 &&
      html`
        <div class="row wraps">
          ${active.map(
            (name) => html`
              <span class="chip" key=${name}>
                <span class="clip"><span class="soft">${NAMES[name]}:</span> ${query[name]}</span>
                <button
                  type="button"
                  aria-label="Remove filter ${NAMES[name]}"
                  onClick=${() => setQuery({ [name]: "" })}
                >
                  <${Icon} name="x" />
                </button>
              </span>
            `,
          )}
        </div>
      `
    }
    ${open && html`<${FilterDialog} query=${query} onClose=${onClose} />`}
  `;
}

function FilterDialog({ query, onClose }) {
  const [values, setValues] = useState(() =>
    Object.fromEntries(Object.keys(NAMES).map((name) => [name, query[name] ?? ""])),
  );
  const field = (name, more) => html`
    <${TextField}
      label=${NAMES[name]}
      value=${values[name]}
      onInput=${(value) => setValues((former) => ({ ...former, [name]: value }))}
      ...${more}
    />
  `;
  return html`
    <${Dialog}
      title="Filter entries"
      submit="Apply"
      onClose=${onClose}
      onSubmit=${() =>
        setQuery(
          Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()])),
        )}
    >
      <div class="form-grid">
        ${field("from", { type: "date" })}
        ${field("to", { type: "date" })}
        ${field("list", { placeholder: "news.example.com", spellcheck: "false" })}
        ${field("text", { hint: "Words that the description contains." })}
      </div>
      <p class="soft">Days are in UTC.</p>
    <//>
  `;
}
