// The custom headers of a webhook, a row for each.
import { html } from "../vendor/preact.js";
import { number } from "../core/format.js";
import { MOST_HEADERS, sizeOf } from "../core/webhooks.js";
import { Button, IconButton } from "../parts/controls.js";

/** `rows`: `[[name, value], ...]`. */
export function HeaderFields({ rows, problem, onChange }) {
  const change = (index, row) => onChange(rows.map((each, at) => (at === index ? row : each)));
  // The API says in words which header it refuses; if it says none, any of them may be the cause
  const isRefused = ([name]) =>
    name !== "" &&
    ["'NAME' is", "NAME is set", "of NAME must"].some((words) =>
      problem?.includes(words.replace("NAME", name)),
    );
  const refused = new Set(rows.some(isRefused) ? rows.filter(isRefused) : problem ? rows : []);
  const input = (row, label, value, onInput) => html`
    <input
      class="input mono"
      aria-label=${label}
      placeholder=${label.split(" ")[0]}
      value=${value}
      spellcheck="false"
      autocomplete="off"
      aria-invalid=${refused.has(row) ? "true" : undefined}
      aria-describedby=${problem ? "headers-problem" : "headers-hint"}
      onInput=${(event) => onInput(event.target.value)}
    />
  `;
  return html`
    <fieldset class="header-fields">
      <legend class="label">Custom headers <span class="faint">(optional)</span></legend>
      ${rows.map((row, index) => {
        const [name, value] = row;
        return html`
          <div class="header-row" key=${index}>
            ${input(row, `Name of header ${index + 1}`, name, (text) =>
              change(index, [text, value]),
            )}
            ${input(row, `Value of header ${index + 1}`, value, (text) =>
              change(index, [name, text]),
            )}
            <${IconButton}
              icon="x"
              label="Remove header ${index + 1}"
              onClick=${() => onChange(rows.filter((_, at) => at !== index))}
            />
          </div>
        `;
      })}
      ${
        rows.length < MOST_HEADERS &&
        html`
          <div>
            <${Button} kind="small" icon="plus" onClick=${() => onChange([...rows, ["", ""]])}>
              Add header
            <//>
          </div>
        `
      }
      <p class="hint" id="headers-hint">
        Sent with each batch: at most ${MOST_HEADERS}, under 3,000 bytes in all
        ${rows.length ? `; now ${number(sizeOf(rows))}` : ""}.
      </p>
      ${problem && html`<p class="problem" id="headers-problem" role="alert">${problem}</p>`}
    </fieldset>
  `;
}
