// The filters of the event search as fields of a dialog, and as chips while they are set.
import { html, useState } from "../vendor/preact.js";
import { EVENT_TYPES, eventType } from "../core/events.js";
import { setQuery } from "../core/router.js";
import { CheckField, Icon, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";

/**
 * Parameter of the search → its name for people, and the event's field that it is compared with.
 */
export const FILTERS = {
  transmissions: { label: "Transmission", field: "transmission_id" },
  messages: { label: "Message", field: "message_id" },
  campaigns: { label: "Campaign", field: "campaign_id" },
  templates: { label: "Template", field: "template_id" },
  subjects: { label: "Subject", field: "subject" },
  from_addresses: { label: "From address", field: "friendly_from" },
  sending_domains: { label: "Sending domain", field: "sending_domain" },
  recipient_domains: { label: "Recipient domain", field: "recipient_domain" },
  reasons: { label: "Reason", field: "reason" },
  bounce_classes: { label: "Bounce class", field: "bounce_class" },
  ip_pools: { label: "IP pool", field: "ip_pool" },
  sending_ips: { label: "Sending IP", field: "sending_ip" },
  mailbox_providers: { label: "Mailbox provider", field: "mailbox_provider" },
  mailbox_provider_regions: { label: "Provider region", field: "mailbox_provider_region" },
  ab_tests: { label: "A/B test", field: "ab_test_id" },
  ab_test_versions: { label: "A/B test version", field: "ab_test_version" },
  event_ids: { label: "Event", field: "event_id" },
};

export function Filters({ open, query, onClose }) {
  const active = Object.keys(FILTERS).filter((name) => query[name]);
  return html`
    ${
      active.length > 0 &&
      html`
        <div class="row wraps">
          ${active.map(
            (name) => html`
              <span class="chip" key=${name}>
                <span class="clip">
                  <span class="soft">${FILTERS[name].label}:</span> ${query[name]}
                </span>
                <button
                  type="button"
                  aria-label="Remove filter ${FILTERS[name].label}"
                  onClick=${() => setQuery({ [name]: "" })}
                >
                  <${Icon} name="x" />
                </button>
              </span>
            `,
          )}
        </div>
      `
    }
    ${open && html`<${FilterDialog} query=${query} onClose=${onClose} />`}
  `;
}

function FilterDialog({ query, onClose }) {
  const [values, setValues] = useState(() =>
    Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query[name] ?? ""])),
  );
  const [types, setTypes] = useState(
    () => new Set((query.events ?? "").split(",").filter(Boolean)),
  );
  const toggle = (type, on) =>
    setTypes((former) => {
      const next = new Set(former);
      if (on) next.add(type);
      else next.delete(type);
      return next;
    });
  return html`
    <${Dialog}
      title="Filter events"
      wide
      submit="Apply"
      onClose=${onClose}
      onSubmit=${() =>
        setQuery({
          ...Object.fromEntries(
            Object.entries(values).map(([name, value]) => [name, value.trim()]),
          ),
          events: [...types].join(","),
        })}
    >
      <p class="soft">
        Several values are separated by commas. An event has to match every field that is filled in.
      </p>
      <div class="form-grid">
        ${Object.entries(FILTERS).map(
          ([name, { label }]) => html`
            <${TextField}
              key=${name}
              label=${label}
              value=${values[name]}
              onInput=${(value) => setValues((former) => ({ ...former, [name]: value }))}
              autocomplete="off"
              spellcheck="false"
            />
          `,
        )}
      </div>
      <${TypeChecks} types=${types} toggle=${toggle} />
    <//>
  `;
}

function TypeChecks({ types, toggle }) {
  return html`
    <fieldset class="checks">
      <legend class="label">Types</legend>
      ${EVENT_TYPES.map(
        (type) => html`
          <${CheckField}
            key=${type}
            label=${eventType(type).label}
            checked=${types.has(type)}
            onChange=${(on) => toggle(type, on)}
          />
        `,
      )}
    </fieldset>
  `;
}
