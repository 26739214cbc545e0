// Why messages of a transmission were not delivered: the reasons of its latest failures, most
// frequent first.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { eventDetail, eventType } from "../core/events.js";
import { number } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { Badge } from "../parts/controls.js";
import { Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const MOST_EVENTS = 100;
const MOST_REASONS = 10;

/** `count` failures of `types` since `from`; the card looks again when the count changes. */
export function Reasons({ id, types, from, count }) {
  const query = { transmissions: id, events: types, from, per_page: MOST_EVENTS };
  const resource = useResource(
    (signal) => get("api/v1/events/message", query, { signal }),
    [id, count],
  );
  return html`
    <${Card} title="Why messages failed" flush>
      <${Loaded} resource=${resource}>
        ${({ results }) => html`
          <ul class="items" aria-label="Reasons">
            ${byReason(results).map(
              ([reason, { type, recipients }]) => html`
                <${Reason} key=${reason} type=${type} text=${reason} recipients=${recipients} />
              `,
            )}
          </ul>
          ${
            count > results.length &&
            html`
              <p class="pane-note soft">
                Of the latest ${number(results.length)} of ${number(count)} failures.
              </p>
            `
          }
        `}
      <//>
    <//>
  `;
}

function Reason({ type, text, recipients }) {
  const { label, tone, icon } = eventType(type);
  const [first, ...others] = recipients;
  return html`
    <li>
      <div class="grow">
        <div class="wrap strong">${text}</div>
        <div class="clip">${first}${others.length > 0 && ` and ${number(others.length)} more`}</div>
      </div>
      <${Badge} tone=${tone} icon=${icon}>${label}<//>
    </li>
  `;
}

/** Text of a failure → its type and recipients. */
function byReason(events) {
  const reasons = new Map();
  for (const event of events) {
    const reason = eventDetail(event) || eventType(event.type).label;
    const entry = reasons.get(reason) ?? { type: event.type, recipients: [] };
    entry.recipients.push(event.rcpt_to);
    reasons.set(reason, entry);
  }
  return [...reasons]
    .sort(([, one], [, other]) => other.recipients.length - one.recipients.length)
    .slice(0, MOST_REASONS);
}
