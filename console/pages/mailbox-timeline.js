// What became of a message: its events, oldest first, as they come.
import { html, useRef } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { eventDetail, eventType } from "../core/events.js";
import { useLive } from "../core/live.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { may, who } from "../core/service.js";
import { Button, Icon, Time } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Recipient } from "./mailbox-recipient.js";

const GRANT = "message_events/view";
const TEN_DAYS = 10 * 86400000;

export function Timeline({ message }) {
  return html`
    <div class="stack">
      <${Recipient} message=${message} />
      ${
        may(GRANT)
          ? html`<${Events} message=${message} />`
          : html`
            <${Empty} level=${3} icon="key" title="${who()} may not see events">
              It takes the grant <code>${GRANT}</code>.
            <//>
          `
      }
    </div>
  `;
}

function Events({ message }) {
  const query = { messages: message.message_id, per_page: 200 };
  const resource = useEvents(message, query);
  return html`
    <${Loaded} resource=${resource}>
      ${(events) =>
        events.length
          ? html`
            <ol class="timeline" aria-live="polite">
              ${events.map((event) => {
                const { label, tone, icon } = eventType(event.type);
                return html`
                  <${TimelineEvent}
                    key=${event.event_id}
                    event=${event}
                    tone=${tone}
                    icon=${icon}
                    message=${message}
                    label=${label}
                  />
                `;
              })}
            </ol>
          `
          : html`
            <${Empty} level=${3} icon="clock" title="No event yet">
              Events of the last ten days are here. Those of a message that was just sent appear in
              a moment.
            <//>
          `}
    <//>
    <div>
      <${Button}
        kind="small"
        icon="activity"
        href=${href(["activity"], { messages: message.message_id, hours: "240" })}
      >
        Show in Activity
      <//>
    </div>
  `;
}

function TimelineEvent({ event, tone, icon, message, label }) {
  return html`
    <li>
      <span class="mark ${tone}"><${Icon} name=${icon} /></span>
      <div>
        <a
          class="strong"
          href=${href(["activity", event.event_id], {
            messages: message.message_id,
            hours: "240",
          })}
        >
          ${label}
        </a>
        <p>${detail(event)}</p>
      </div>
      <span class="soft"><${Time} at=${event.timestamp} /></span>
    </li>
  `;
}

/** The events of a message, those that come later as well. */
function useEvents(message, query) {
  // Events that come while the answer is on its way are not in it
  const live = useRef(/** @type {Api.Event[]} */ ([]));
  const load = async (signal) => {
    const now = Date.now();
    const times = {
      from: new Date(now - TEN_DAYS).toISOString().slice(0, 19),
      to: new Date(now + 60000).toISOString().slice(0, 19),
    };
    const { results } = await get("api/v1/events/message", { ...query, ...times }, { signal });
    return live.current.reduce(withEvent, [...results].reverse());
  };
  const resource = useResource(load, [message.message_id]);
  const add = (event) => {
    live.current.push(event);
    resource.set((events) => events && withEvent(events, event));
  };
  useLive(
    {
      event: (event) => event.message_id === message.message_id && add(event),
      gap: resource.reload,
    },
    { poll: resource.reload },
  );
  return resource;
}

const withEvent = (events, event) =>
  events.some((each) => each.event_id === event.event_id) ? events : [...events, event];

const detail = (event) =>
  event.type === "delivery"
    ? `Accepted by the mail host of ${event.routing_domain ?? event.recipient_domain}` +
      (event.queue_time ? ` after ${event.queue_time} ms` : "")
    : eventDetail(event);
