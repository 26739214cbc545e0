// How it is sent: data, campaign, tracking, time.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { CheckField, SelectField, TextField } from "../parts/controls.js";
import { Card } from "../parts/page.js";

export function OptionsForm({ options, onChange }) {
  const set = (name) => (value) => onChange((former) => ({ ...former, [name]: value }));
  const text = (name) => ({ value: options[name], onInput: set(name) });
  const check = (name) => ({ checked: options[name], onChange: set(name) });
  return html`
    <${Card} title="Data and options">
      <div class="stack">
        <${TextField}
          label="Test data"
          optional
          multiline
          rows="3"
          class="mono"
          spellcheck="false"
          placeholder=${'{ "name": "Anna" }'}
          hint=${
            "Substitution data as JSON for every recipient; " +
            "a recipient's own data takes precedence."
          }
          ...${text("data")}
        />
        <div class="form-grid">
          <${TextField} label="Campaign" optional maxlength="64" ...${text("campaign")} />
          <${TextField} label="Description" optional ...${text("description")} />
          <${PoolField} value=${options.pool} onChange=${set("pool")} />
          <${TextField}
            label="Start"
            optional
            type="datetime-local"
            hint="At most 3 days from now. Empty: now."
            ...${text("start")}
          />
        </div>
        <${TextField}
          label="Metadata"
          optional
          multiline
          rows="2"
          class="mono"
          spellcheck="false"
          hint="JSON that every event of the transmission carries."
          ...${text("metadata")}
        />
        <fieldset class="checks">
          <legend class="label">Options</legend>
          <${CheckField} label="Track opens" ...${check("opens")} />
          <${CheckField} label="Track clicks" ...${check("clicks")} />
          <${CheckField}
            label="Transactional"
            hint="Reaches those who refuse marketing mail."
            ...${check("transactional")}
          />
        </fieldset>
      </div>
    <//>
  `;
}

/** The pool by which the mail leaves: one of those that the key may list, or any name. */
function PoolField({ value, onChange }) {
  const resource = useResource((signal) =>
    may("ip_pools/view") ? get("api/v1/ip-pools", undefined, { signal }) : { results: [] },
  );
  const pools = (resource.data?.results ?? []).map((each) => [each.id, each.name]);
  if (!pools.length && !resource.loading)
    return html`
      <${TextField}
        label="IP pool"
        optional
        spellcheck="false"
        value=${value}
        onInput=${onChange}
      />
    `;
  return html`
    <${SelectField}
      label="IP pool"
      disabled=${resource.loading}
      value=${value}
      onChange=${onChange}
      options=${[
        ["", "As usual"],
        ...pools,
        ...(value && !pools.some(([id]) => id === value) ? [[value, value]] : []),
      ]}
    />
  `;
}
