// Grants to choose from: presets with plain names, and behind a click each one by itself.
import { html, useState } from "../vendor/preact.js";
import { holds, isOfPresets, presetsFor, withPreset } from "../core/grants.js";
import { number } from "../core/format.js";
import { Button, CheckField } from "./controls.js";

/**
 * `offer` are the grants that can be chosen (`[{key, label, description}, ...]`), `chosen` is the
 * set of those that are, and `onChange` gets the next set. What is chosen and not on offer stays.
 */
export function GrantsField({ offer, chosen, onChange, legend = "What it may do" }) {
  const presets = presetsFor(offer);
  const [open] = useState(() => !isOfPresets(chosen, offer));
  return html`
    <fieldset class="checks presets">
      <legend class="label">${legend}</legend>
      ${presets.map(
        (each) => html`
          <${CheckField}
            key=${each.id}
            label=${each.label}
            hint=${each.about}
            checked=${holds(each, chosen)}
            onChange=${(on) => onChange(withPreset(chosen, each, on, presets))}
          />
        `,
      )}
    </fieldset>
    <details open=${open}>
      <summary>
        Choose one by one${" "}
        <span class="faint">
          (${number(offer.filter((each) => chosen.has(each.key)).length)} of
          ${" "}${number(offer.length)})
        </span>
      </summary>
      <${OneByOne} offer=${offer} chosen=${chosen} onChange=${onChange} />
    </details>
  `;
}

function OneByOne({ offer, chosen, onChange }) {
  const keys = offer.map((each) => each.key);
  const every = keys.every((each) => chosen.has(each));
  const toggle = (names, on) => {
    const next = new Set(chosen);
    for (const name of names) next[on ? "add" : "delete"](name);
    onChange(next);
  };
  return html`
    <fieldset class="checks">
      <legend>
        Each grant${" "}
        <${Button} kind="ghost small" onClick=${() => toggle(keys, !every)}>
          ${every ? "None" : "All"}<span class="visually-hidden"> of the grants</span>
        <//>
      </legend>
      ${offer.map(
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
}
