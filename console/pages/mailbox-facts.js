// From whom a message is, to whom it went, and where it belongs.
import { html, useState } from "../vendor/preact.js";
import { recipientsByField } from "../core/envelope.js";
import { bytes, exactTime, number } from "../core/format.js";
import { inboxKey } from "../core/inboxes.js";
import { href } from "../core/router.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { PageLink } from "../parts/links.js";

const SHOWN = 5;

export function Facts({ message }) {
  const { to, cc, bcc, others } = recipientsByField(message);
  return html`
    <div class="message-head">
      <dl class="facts small">
        <dt>From</dt>
        <dd>
          ${
            message.from_name && message.from_name !== message.from
              ? html`${message.from_name} <span class="soft">${message.from}</span>`
              : message.from
          }
        </dd>
        <${Recipients} field="To" addresses=${to} others=${others.to} />
        <${Recipients} field="Cc" addresses=${cc} others=${others.cc} />
        <${Recipients} field="Bcc" addresses=${bcc} />
        <dt>Received</dt>
        <dd>${exactTime(message.received_at)}, ${bytes(message.size)}</dd>
        ${message.login && html`<dt>Logged in as</dt><dd>${message.login}</dd>`}
        ${
          message.inbox &&
          html`
            <dt>Inbox</dt>
            <dd>
              <a href=${href(["mailbox"], { inbox: inboxKey(message.inbox) })}>${message.inbox}</a>
            </dd>
          `
        }
        <${Labels} message=${message} />
      </dl>
    </div>
  `;
}

/**
 * Those that one field names, `others` without being recipients of this message; of many, the first
 * ones until the rest is asked for.
 */
function Recipients({ field, addresses: recipients, others = [] }) {
  const [all, setAll] = useState(false);
  const addresses = [...recipients, ...others];
  if (!addresses.length) return null;
  const shown = all ? addresses : addresses.slice(0, SHOWN);
  return html`
    <dt>${field}</dt>
    <dd class="row wraps recipients">
      ${shown.map(
        (each, place) =>
          html`<${Copyable}
            key=${each}
            text=${each}
            class=${place < recipients.length ? "" : "soft"}
          />`,
      )}
      ${
        shown.length < addresses.length &&
        html`
          <${Button} kind="ghost small" onClick=${() => setAll(true)}>
            and ${number(addresses.length - shown.length)} more
          <//>
        `
      }
    </dd>
  `;
}

/** The campaign, and the tags that the message was sent with or was given here. */
function Labels({ message }) {
  const { campaign_id: campaign, tags = [] } = message;
  if (!campaign && !tags.length) return null;
  return html`
    <dt>${campaign ? "Campaign" : "Tags"}</dt>
    <dd class="row wraps">
      ${
        campaign &&
        html`
          <${PageLink} path=${["activity"]} query=${{ campaigns: campaign }}>${campaign}<//>
        `
      }
      ${tags.map((tag) => html`<${Badge} key=${tag} icon="tag">${tag}<//>`)}
    </dd>
  `;
}
