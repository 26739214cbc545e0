// What makes an API key: its grants, the addresses that may use it, and the key itself, shown once.
import { html } from "../vendor/preact.js";
import { base, get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { grants as ownGrants, may } from "../core/service.js";
import { Button, CheckField, TextField } from "../parts/controls.js";
import { Code } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded, Notice } from "../parts/feedback.js";

const own = (key) => ownGrants.value === null || ownGrants.value.has(key);

/** The addresses in a text, separated by commas or spaces. */
export const addressesOf = (text) => text.split(/[\s,]+/).filter(Boolean);

export function AddressesField({ value, onInput }) {
  return html`
    <${TextField}
      label="Addresses that may use it"
      optional
      placeholder="192.0.2.0/24"
      hint="IP addresses or networks, with commas between. Empty: every address."
      value=${value}
      onInput=${onInput}
      spellcheck="false"
    />
  `;
}

/** Grants as checkboxes: only those that this key holds itself, because a key cannot give more. */
export function GrantsField({ chosen, onChange, ofSubaccount }) {
  const path = "api/v1/authenticate/grants";
  const resource = useResource(
    async (signal) => {
      if (!may("grants/view")) return [...ownGrants.value].map((key) => ({ key, label: key }));
      return (await get(path, ofSubaccount ? { role: "subaccount" } : undefined, { signal }))
        .results;
    },
    [ofSubaccount],
  );
  const toggle = (names, on) =>
    onChange((former) => {
      const next = new Set(former);
      for (const name of names) next[on ? "add" : "delete"](name);
      return next;
    });
  return html`
    <${Loaded} resource=${resource}>
      ${(all) => {
        const offered = all.filter((each) => own(each.key));
        const every = offered.every((each) => chosen.has(each.key));
        return html`
          <fieldset class="checks">
            <legend>
              What it may do${" "}
              <${Button}
                kind="ghost small"
                onClick=${() =>
                  toggle(
                    offered.map((each) => each.key),
                    !every,
                  )}
              >
                ${every ? "None" : "All"}
                <span class="visually-hidden"> of the grants</span>
              <//>
            </legend>
            ${offered.map(
              (each) => html`
                <${CheckField}
                  key=${each.key}
                  label=${each.label}
                  hint=${each.description}
                  checked=${chosen.has(each.key)}
                  onChange=${(on) => toggle([each.key], on)}
                />
              `,
            )}
          </fieldset>
        `;
      }}
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
