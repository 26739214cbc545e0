// A window of the metrics between two times of clocks. The address keeps them; what the API finds
// wrong with one of them is shown at its field.
import { html, useEffect, useState } from "../vendor/preact.js";
import { inWords } from "../core/messages.js";
import { setQuery } from "../core/router.js";
import { Button, SelectField, TextField } from "../parts/controls.js";

const FIELDS = ["from", "to", "timezone"];
const COMMON = [
  "UTC",
  "America/Los_Angeles",
  "America/New_York",
  "America/Sao_Paulo",
  "Europe/London",
  "Europe/Berlin",
  "Asia/Kolkata",
  "Asia/Singapore",
  "Asia/Tokyo",
  "Australia/Sydney",
];

/**
 * The texts of a refusal by the field that each is about; empty if it is about none of this form.
 */
export function problemsOf(error) {
  const about =
    error?.status === 400 ? error.errors.filter((each) => FIELDS.includes(each.param)) : [];
  return Object.fromEntries(about.map((each) => [each.param, inWords(each)]));
}

export function ZoneField({ zone, here, problem, labelled }) {
  const zones = [...new Set([here, ...COMMON, zone, ...Intl.supportedValuesOf("timeZone")])];
  return html`
    <${SelectField}
      hideLabel=${!labelled}
      label="Time zone"
      problem=${problem}
      value=${zone}
      options=${zones.map((each) => [each, each === here ? `${each} (here)` : each])}
      onChange=${(value) => setQuery({ zone: value === here ? "" : value })}
    />
  `;
}

export function FreeWindow({ query, free, zone, here, problems, now }) {
  const { from = "", to = "" } = query;
  const [draft, setDraft] = useState({ from, to });
  useEffect(() => setDraft({ from, to }), [from, to]);
  const show = (event) => {
    event.preventDefault();
    setQuery(draft);
  };
  const field = (name, label, hint) => html`
    <${TextField}
      label=${label}
      type="datetime-local"
      max=${now}
      hint=${hint}
      problem=${problems[name]}
      value=${draft[name]}
      onInput=${(value) => setDraft((former) => ({ ...former, [name]: value }))}
    />
  `;
  return html`
    <form class="window-form" aria-label="Window" novalidate onSubmit=${show}>
      ${
        free &&
        html`
          ${field("from", "From")}
          ${field("to", "To", !draft.to && "Without it, the window ends now")}
        `
      }
      <${ZoneField} labelled zone=${zone} here=${here} problem=${problems.timezone} />
      ${free && html`<${Button} type="submit" kind="primary" icon="calendar">Show<//>`}
    </form>
  `;
}
