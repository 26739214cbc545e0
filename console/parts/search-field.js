// A field that searches as it is typed.
import { html, useRef } from "../vendor/preact.js";
import { Icon } from "./controls.js";

/** A search field. `/` leads to the page's own, the one with a `shortcut`; Escape empties it. */
export function SearchField({
  value,
  onInput,
  label,
  placeholder = label,
  shortcut = true,
  inputRef,
}) {
  const own = useRef();
  const input = inputRef ?? own;
  return html`
    <div class="search" role=${shortcut ? "search" : undefined}>
      <${Icon} name="search" />
      <input
        ref=${input}
        class="input"
        type="search"
        aria-label=${label}
        placeholder=${placeholder}
        value=${value}
        spellcheck="false"
        autocomplete="off"
        onInput=${(e) => onInput(e.target.value)}
        onKeyDown=${(e) => {
          if (e.key === "Escape") {
            onInput("");
            e.target.blur();
          }
        }}
        data-search=${shortcut ? "" : undefined}
      />
      ${shortcut && !value && html`<kbd aria-hidden="true">/</kbd>`}
    </div>
  `;
}
