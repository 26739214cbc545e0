// The id of something new. Left empty, it becomes one that is made of the name.
import { html } from "../vendor/preact.js";
import { TextField } from "./controls.js";

/** `proposal` is the id that an empty field stands for; `hint` says who names it. */
export function IdField({ value, onInput, proposal, hint }) {
  const text =
    `${hint} Letters, digits, - and _; it cannot be ` +
    `changed.${!value && proposal ? ` Left empty: ${proposal}` : ""}`;
  return html`
    <${TextField}
      label="Id"
      optional
      hint=${text}
      placeholder=${proposal}
      class="mono"
      value=${value}
      onInput=${onInput}
      spellcheck="false"
      autocapitalize="none"
      autocomplete="off"
    />
  `;
}
