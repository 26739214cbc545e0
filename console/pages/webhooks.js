// Webhooks: which there are, and how their targets answer. One of them has a page of its own.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { WebhookForm } from "./webhooks-form.js";
import { WebhookView } from "./webhooks-view.js";

const PATH = "api/v1/webhooks";

/** Times of the API are in UTC, without saying so. */
const utc = (time) => (time ? `${time.replace(" ", "T")}Z` : null);

/** How a webhook does: its badge's text, tone and icon. */
export function health(webhook) {
  if (!webhook.active) return ["Inactive", "", "pause"];
  const [success, failure] = [utc(webhook.last_successful), utc(webhook.last_failure)];
  if (failure && (!success || failure > success)) return ["Failing", "bad", "circle-x"];
  return success ? ["Delivering", "good", "circle-check"] : ["No batch yet", "info", "clock"];
}

export default function Webhooks() {
  const { path } = route.value;
  return path[1]
    ? html`<${WebhookView} id=${path[1]} batch=${path[2]} />`
    : html`<${WebhookList} />`;
}

function WebhookList() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const [adding, setAdding] = useState(false);
  const add =
    may("webhooks/modify") &&
    html`<${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>Add webhook<//>`;
  return html`
    <div class="page">
      <${PageHead} title="Webhooks" about="Every event, posted to a URL of yours as it happens.">
        <${CurlButton} path=${PATH} />
        ${add}
      <//>
      <${Card} flush>
        <${Loaded} resource=${resource}>
          ${({ results }) =>
            results.length
              ? html`<${Table} webhooks=${results} />`
              : html`
                <${Empty} icon="webhook" title="No webhook yet" actions=${add}>
                  Give the URL of an endpoint that answers POST requests with status 200. A test is
                  sent first.
                <//>
              `}
        <//>
      <//>
      ${
        adding &&
        html`
          <${WebhookForm}
            onClose=${() => setAdding(false)}
            onSaved=${(id) => go(["webhooks", id])}
          />
        `
      }
    </div>
  `;
}

function Table({ webhooks }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Webhooks">
      <table class="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>Events</th>
            <th>Last success</th>
            <th>Last failure</th>
          </tr>
        </thead>
        <tbody>
          ${webhooks.map((each) => {
            const [text, tone, icon] = health(each);
            return html`
              <tr key=${each.id}>
                <td>
                  <a class="strong" href=${href(["webhooks", each.id])}>${each.name}</a>
                  <div class="soft clip">${each.target}</div>
                </td>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                <td class="num">${each.events.length}</td>
                <td><${Time} at=${utc(each.last_successful)} /></td>
                <td><${Time} at=${utc(each.last_failure)} /></td>
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
  `;
}
