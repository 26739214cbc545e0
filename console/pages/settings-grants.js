// What makes an API key: its grants, the addresses that may use it, its end, and the key itself,
// shown once.
import { html } from "../vendor/preact.js";
import { base } from "../core/api.js";
import { loadGrants } from "../core/grants.js";
import { useResource } from "../core/resource.js";
import { grants as ownGrants } from "../core/service.js";
import { Button, TextField } from "../parts/controls.js";
import { Code } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded, Notice } from "../parts/feedback.js";
import { GrantsField } from "../parts/grants.js";

const own = (key) => ownGrants.value === null || ownGrants.value.has(key);

/** The addresses in a text, separated by commas or spaces. */
export const addressesOf = (text) => text.split(/[\s,]+/).filter(Boolean);

export function AddressesField({ value, onInput }) {
  return html`
    <${TextField}
      label="Allowed addresses"
      optional
      placeholder="192.0.2.0/24"
      hint="IP addresses or networks, comma-separated. Empty: every address."
      value=${value}
      onInput=${onInput}
      spellcheck="false"
    />
  `;
}

/** When a key ends, as the form has it: a time of this place without its zone. */
export function EndField({ value, onInput }) {
  return html`
    <${TextField}
      label="Ends"
      optional
      type="datetime-local"
      hint="From then on it is refused. Empty: it has no end."
      value=${value}
      onInput=${onInput}
    />
  `;
}

/** The end in that field, as the API takes it. */
export const endOf = (text) => (text ? new Date(text).toISOString() : null);

/** What a key may do: only grants that its maker holds as well, because nobody can give more. */
export function KeyGrants({ chosen, onChange, ofSubaccount = false }) {
  const resource = useResource((signal) => loadGrants(signal, ofSubaccount), [ofSubaccount]);
  return html`
    <${Loaded} resource=${resource}>
      ${(all) => html`
        <${GrantsField}
          offer=${all.filter((each) => own(each.key))}
          chosen=${chosen}
          onChange=${onChange}
        />
      `}
    <//>
  `;
}

/** A new key. It is nowhere else, so that only its hash can be stored. */
export function KeyOnce({ text, onClose }) {
  return html`
    <${Dialog}
      title="The new API key"
      onClose=${onClose}
      foot=${html`
        <div class="dialog-foot">
          <${Button}
            icon="external-link"
            href="${base}console/#key=${encodeURIComponent(text)}"
            target="_blank"
            rel="noopener"
          >
            Console with this key
          <//>
          <${Button} kind="primary" onClick=${onClose}>Done<//>
        </div>
      `}
    >
      <${Notice} tone="warn" icon="alert-triangle">
        Copy it now. It is shown this once and cannot be read back.
      <//>
      <${Code} text=${text} label="Key" wrapped />
    <//>
  `;
}
