// The custom headers of a webhook, a row for each.
import { html } from "../vendor/preact.js";
import { number } from "../core/format.js";
import { MOST_HEADERS, sizeOf } from "../core/webhooks.js";
import { Button, IconButton } from "../parts/controls.js";

/** `rows`: `[[name, value], ...]`. */
export function HeaderFields({ rows, problem, onChange }) {
  const change = (index, row) => onChange(rows.map((each, at) => (at === index ? row : each)));
  const input = (label, value, onInput) => html`<input class="input mono" aria-label=${label} placeholder=${label.split(" ")[0]} value=${value} spellcheck="false" autocomplete="off"
    aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem ? "headers-problem" : "headers-hint"} onInput=${(event) => onInput(event.target.value)} />`;
  return html`<fieldset class="header-fields"><legend class="label">Custom headers <span class="faint">(optional)</span></legend>
    ${rows.map(([name, value], index) => html`<div class="header-row" key=${index}>${input(`Name of header ${index + 1}`, name, (text) => change(index, [text, value]))}
      ${input(`Value of header ${index + 1}`, value, (text) => change(index, [name, text]))}
      <${IconButton} icon="x" label="Remove header ${index + 1}" onClick=${() => onChange(rows.filter((_, at) => at !== index))} /></div>`)}
    ${rows.length < MOST_HEADERS && html`<div><${Button} kind="small" icon="plus" onClick=${() => onChange([...rows, ["", ""]])}>Add header<//></div>`}
    <p class="hint" id="headers-hint">Sent with each batch: at most ${MOST_HEADERS}, under 3,000 bytes in all${rows.length ? `; now ${number(sizeOf(rows))}` : ""}.</p>
    ${problem && html`<p class="problem" id="headers-problem" role="alert">${problem}</p>`}</fieldset>`;
}
