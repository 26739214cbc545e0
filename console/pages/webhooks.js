// Webhooks: which there are, and how their targets answer. One of them has a page of its own.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { KINDS } from "../core/webhooks.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { Ungranted } from "../parts/ungranted.js";
import { WebhookForm } from "./webhooks-form.js";
import { RelayForm } from "./webhooks-relay-form.js";
import { WebhookView } from "./webhooks-view.js";

/** Times of the API are in UTC, without saying so. */
const utc = (time) => (time ? `${time.replace(" ", "T")}Z` : null);

/** How a webhook does: its badge's text, tone and icon. */
export function health(webhook) {
  if (webhook.active === false) return ["Inactive", "", "pause"];
  const [success, failure] = [utc(webhook.last_successful), utc(webhook.last_failure)];
  if (failure && (!success || failure > success)) return ["Failing", "bad", "circle-x"];
  return success ? ["Delivering", "good", "circle-check"] : ["No batch yet", "info", "clock"];
}

export default function Webhooks() {
  const { path } = route.value;
  if (path[1] === "relay" && path[2])
    return html`<${One} kind=${KINDS.relay} id=${path[2]} batch=${path[3]} />`;
  return path[1] && path[1] !== "relay"
    ? html`<${One} kind=${KINDS.events} id=${path[1]} batch=${path[2]} />`
    : html`<${WebhookList} />`;
}

function One({ kind, id, batch }) {
  if (may(kind.view))
    return html`<${WebhookView} key=${kind.name} kind=${kind} id=${id} batch=${batch} />`;
  return html`
    <div class="page">
      <${PageHead} title="Webhooks" back=${["Webhooks", href(["webhooks"])]} />
      <${Ungranted} what="${kind.name}s" grant=${kind.view} />
    </div>
  `;
}

function WebhookList() {
  const names = Object.keys(KINDS).filter((each) => may(KINDS[each].view));
  const name = names.includes(route.value.query.kind)
    ? route.value.query.kind
    : (names[0] ?? "events");
  const kind = KINDS[name];
  const resource = useResource((signal) => get(kind.path, undefined, { signal }), [name]);
  const [adding, setAdding] = useState(false);
  const add =
    may(kind.modify) &&
    html`
      <${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>Add ${kind.name}<//>
    `;
  return html`
    <div class="page">
      <${PageHead} title="Webhooks" about=${kind.about}>
        <${CurlButton} path=${kind.path} />
        ${add}
      <//>
      ${
        names.length > 1 &&
        html`
          <${Tabs}
            label="Kinds of webhooks"
            current=${name}
            onChange=${(each) => setQuery({ kind: each === names[0] ? "" : each })}
            tabs=${names.map((each) => [each, KINDS[each].tab])}
          />
        `
      }
      <${TabPanel} current=${name}>
        <${AllOfKind} kind=${kind} resource=${resource} add=${add} />
      <//>
      ${adding && html`<${Adding} kind=${kind} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function Adding({ kind, onClose }) {
  const Form = kind === KINDS.relay ? RelayForm : WebhookForm;
  return html`
    <${Form} onClose=${onClose} onSaved=${(id) => go([...kind.home, id])} />
  `;
}

function AllOfKind({ kind, resource, add }) {
  return html`
      <${Card} flush>
        <${Loaded} resource=${resource}>
          ${({ results }) =>
            results.length
              ? html`<${Table} kind=${kind} webhooks=${results} />`
              : html`
                <${Empty} icon="webhook" title="No ${kind.name} yet" actions=${add}>
                  Give the URL of an endpoint that answers POST requests with status 200. A test is
                  sent first.
                <//>
              `}
        <//>
      <//>
  `;
}

function Table({ kind, webhooks }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Webhooks">
      <table class="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>${kind === KINDS.relay ? "Mail to" : "Events"}</th>
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
                  <a class="strong" href=${href([...kind.home, each.id])}>
                    ${each.name || `Relay webhook ${each.id}`}
                  </a>
                  <div class="soft clip">${each.target}</div>
                </td>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                ${
                  kind === KINDS.relay
                    ? html`<td>${each.match.domain}</td>`
                    : html`<td class="num">${each.events.length}</td>`
                }
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
