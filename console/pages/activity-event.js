// One event: what it says, where it leads, and its whole JSON.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { bounceClass, eventDetail, eventType } from "../core/events.js";
import { bytes, exactTime, label } from "../core/format.js";
import { inLetters, withLetters } from "../core/international.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { local, may } from "../core/service.js";
import { Badge, Button, Copyable, IconButton } from "../parts/controls.js";
import { CurlButton, Json } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";

const TEN_DAYS = 10 * 86400000;

/** `event` is the event if the list has it; else it is searched for by its id. */
export function EventView({ id, event, onClose }) {
  const resource = useResource(
    async (signal) => {
      if (event) return event;
      const query = {
        event_ids: id,
        from: new Date(Date.now() - TEN_DAYS).toISOString().slice(0, 19),
        to: new Date(Date.now() + 60000).toISOString().slice(0, 19),
      };
      return (await get("api/v1/events/message", query, { signal })).results[0] ?? null;
    },
    [id],
  );
  const data = event ?? resource.data;
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the list"
        kind="ghost small pane-back"
        onClick=${onClose}
      />
      <h2 class="grow clip">${data ? data.rcpt_to : "Event"}</h2>
      <${CurlButton} path="api/v1/events/message" query=${{ event_ids: id }} />
      <${IconButton} icon="x" label="Close" kind="ghost small" onClick=${onClose} />
    </header>
    <div class="pane-body">
      <div class="pane-content">
        ${
          data
            ? html`<${Details} event=${data} />`
            : html`
              <${Loaded} resource=${resource}>
                ${() => html`
                  <${Empty} icon="activity" title="This event is not here">
                    It is older than ten days, or belongs to another account or subaccount.
                  <//>
                `}
              <//>
            `
        }
      </div>
    </div>
  `;
}

function Details({ event }) {
  const { label: name, tone, icon } = eventType(event.type);
  const search = (query) => href(["activity"], query);
  const facts = factsOf(event, search);
  return html`
    <div class="stack">
      <div class="row wraps">
        <${Badge} tone=${tone} icon=${icon}>${name}<//>
        <span class="soft wrap">${event.event_description ?? label(event.type)}</span>
      </div>
      <div class="row wraps">
        ${jumpsOf(event).map(
          ([sign, text, address]) => html`
            <${Button} kind="small" icon=${sign} href=${address}>${text}<//>
          `,
        )}
      </div>
      ${
        eventDetail(event) &&
        ["bad", "warn"].includes(tone) &&
        html`<p class="quote">${eventDetail(event)}</p>`
      }
      <dl class="facts">
        ${facts.map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
      </dl>
      <section class="stack small">
        <h3>JSON</h3>
        <${Json} value=${event} label="Event as JSON" />
      </section>
    </div>
  `;
}

/** Where else to look for what the event belongs to: `[icon, text, address]`. */
function jumpsOf({ message_id: message, transmission_id: transmission, rcpt_to: recipient }) {
  const events = (query) => href(["activity"], { ...query, hours: "240" });
  return [
    message && ["layers", "All of this message", events({ messages: message })],
    transmission && ["send", "All of this transmission", events({ transmissions: transmission })],
    transmission &&
      may("transmissions/view") && [
        "layout-dashboard",
        "Transmission",
        href(["send", transmission]),
      ],
    ["user", "All of this recipient", events({ recipients: recipient })],
    local.value &&
      message && ["inbox", "In the mailbox", href(["mailbox"], { q: `to:"${recipient}"` })],
  ].filter(Boolean);
}

function factsOf(event, search) {
  return [
    ["Time", exactTime(event.timestamp)],
    ["Recipient", html`<${Copyable} text=${event.rcpt_to} class="" />`],
    ["In letters", inLetters(event.rcpt_to)],
    ["Subject", event.subject],
    ["From", event.friendly_from && withLetters(event.friendly_from)],
    ["Class", event.bounce_class && `${event.bounce_class}, ${bounceClass(event.bounce_class)}`],
    ["Reply", event.raw_reason ?? event.reason],
    ["Link", event.target_link_url],
    ["Client", event.user_agent],
    [
      "Campaign",
      event.campaign_id &&
        html`<a href=${search({ campaigns: event.campaign_id })}>${event.campaign_id}</a>`,
    ],
    ["Template", event.template_id],
    ["Sending IP", event.sending_ip],
    ["Size", event.msg_size && bytes(Number(event.msg_size))],
    ["Retries", event.num_retries],
    [
      "Tags",
      event.rcpt_tags?.length ? event.rcpt_tags.map((tag) => html`<${Badge}>${tag}<//> `) : "",
    ],
    ["Message", event.message_id && html`<${Copyable} text=${event.message_id} />`],
    ["Transmission", event.transmission_id && html`<${Copyable} text=${event.transmission_id} />`],
    ["Event", html`<${Copyable} text=${event.event_id} />`],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
}
