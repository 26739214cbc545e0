// Save the events of a search as a file.
import { html } from "../vendor/preact.js";
import { ExportButton as Export } from "../parts/export.js";

const FIELDS = [
  "timestamp",
  "type",
  "rcpt_to",
  "subject",
  "friendly_from",
  "campaign_id",
  "template_id",
  "transmission_id",
  "message_id",
  "bounce_class",
  "reason",
  "target_link_url",
  "user_agent",
  "ip_address",
  "sending_ip",
  "ip_pool",
  "mailbox_provider",
  "subaccount_id",
  "event_id",
];

export function ExportButton({ query, total }) {
  return html`
    <${Export}
      path="api/v1/events/message"
      query=${() => ({ ...query(), per_page: 5000 })}
      next=${(answer) => answer.links.next}
      fields=${FIELDS}
      noun="event"
      name="events"
      total=${total}
    />
  `;
}
