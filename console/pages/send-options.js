// How it is sent: data, campaign, tracking, time.
import { html } from "../vendor/preact.js";
import { CheckField, TextField } from "../parts/controls.js";
import { Card } from "../parts/page.js";

export function OptionsForm({ options, onChange }) {
  const set = (name) => (value) => onChange((former) => ({ ...former, [name]: value }));
  const text = (name) => ({ value: options[name], onInput: set(name) });
  const check = (name) => ({ checked: options[name], onChange: set(name) });
  return html`<${Card} title="Data and options"><div class="stack">
    <${TextField} label="Test data" optional multiline rows="3" class="mono" spellcheck="false" placeholder=${'{ "name": "Anna" }'} hint="Substitution data as JSON for every recipient; a recipient's own data takes precedence." ...${text("data")} />
    <div class="form-grid"><${TextField} label="Campaign" optional maxlength="64" ...${text("campaign")} /><${TextField} label="Description" optional ...${text("description")} />
      <${TextField} label="IP pool" optional spellcheck="false" ...${text("pool")} /><${TextField} label="Start" optional type="datetime-local" hint="At most 3 days from now. Empty: now." ...${text("start")} /></div>
    <${TextField} label="Metadata" optional multiline rows="2" class="mono" spellcheck="false" hint="JSON that every event of the transmission carries." ...${text("metadata")} />
    <fieldset class="checks"><legend class="label">Options</legend>
      <${CheckField} label="Track opens" ...${check("opens")} /><${CheckField} label="Track clicks" ...${check("clicks")} />
      <${CheckField} label="Transactional" hint="Reaches those who refuse marketing mail." ...${check("transactional")} /></fieldset></div><//>`;
}
