// One request that a receiver got: its signature, its events, its headers and its body.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { bytes, exactTime, plural } from "../core/format.js";
import { eventType } from "../core/events.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { Badge, Button } from "../parts/controls.js";
import { Code, CurlButton, Json } from "../parts/code.js";
import { Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { pathOf } from "./inspector-behaviour.js";

const SIGNATURES = {
  valid: ["Signature valid", "good", "shield-check"],
  invalid: ["Signature invalid", "bad", "shield-alert"],
  missing: ["Not signed", "warn", "shield-alert"],
  unchecked: ["Signature not checked", "", "circle"],
};

/** What a signature says, and what to do. A test has no event. */
function explanation(judgement, isTest) {
  if (judgement === "missing" && isTest)
    return (
      "This test came before the webhook had a secret: a webhook is tested first, and gets " +
      "its secret once it exists. What it posts afterwards is signed."
    );
  return {
    missing:
      "The webhook that posted this had no signing secret. Make one on its page, and every " +
      "batch is signed from then on.",
    invalid:
      "It was signed with another secret, or changed on its way. Give this receiver the secret " +
      "of the webhook that posts here.",
    unchecked:
      "This receiver has no secret. With the webhook's signing secret, it verifies what arrives.",
  }[judgement];
}

/** A signature's badge: text, tone and icon. */
export const signature = (judgement) => SIGNATURES[judgement];

/** `settings` are those of the receiver: a new secret judges anew. */
export function RequestView({ name, id, settings }) {
  const path = `${pathOf(name)}/requests/${encodeURIComponent(id)}`;
  const resource = useResource(
    (signal) => get(path, undefined, { signal }).then((answer) => answer.results),
    [id, settings?.has_secret],
  );
  const actions = html`
    <span class="row">
      <${CurlButton} path=${path} />
      <${Button} kind="ghost small" icon="x" href=${href(["inspector", name])}>Close<//>
    </span>
  `;
  return html`
    <${Card} title="Request ${id}" actions=${actions}>
      <${Loaded} resource=${resource}>${(request) => html`<${Request} request=${request} />`}<//>
    <//>
  `;
}

function Request({ request }) {
  const [text, tone, icon] = signature(request.signature);
  const body = parsed(request.body);
  const counts = Array.isArray(body) ? countsOf(body) : null;
  const meaning = explanation(request.signature, counts?.size === 0);
  return html`
    <div class="stack">
      <div class="row wraps">
        <${Badge} tone=${tone} icon=${icon}>${text}<//>
        <span class="soft">
          ${exactTime(request.received_at)}, ${bytes(request.size)}, answered with ${request.status}
          ${request.delay ? ` after ${request.delay} s` : ""}
        </span>
      </div>
      ${meaning && html`<p class="soft">${meaning}</p>`}
      ${counts && html`<${Events} total=${body.length} counts=${counts} />`}
      <section class="stack small">
        <h3>Body</h3>
        ${
          body === undefined
            ? html`<${Code} text=${request.body} label="Body" wrapped />`
            : html`<${Json} value=${body} label="Body" />`
        }
      </section>
      <section class="stack small">
        <h3>Headers</h3>
        <div class="scroll-x" tabindex="0" role="region" aria-label="Headers">
          <table class="table headers">
            <tbody>
              ${request.headers.map(
                (each, index) => html`
                  <tr key=${index}>
                    <th scope="row">${each.name}</th>
                    <td class="mono wrap">${each.value}</td>
                  </tr>
                `,
              )}
            </tbody>
          </table>
        </div>
      </section>
    </div>
  `;
}

/** How many events of each type a batch holds. */
function countsOf(events) {
  const counts = new Map();
  for (const each of events) {
    // The outer name is that of the webhooks' vendor style, the inner one the class of the event.
    const { type } = Object.values(Object.values(each ?? {})[0] ?? {})[0] ?? {};
    if (type) counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return counts;
}

function Events({ total, counts }) {
  if (!counts.size) return html`<p class="soft">A test: it holds no event.</p>`;
  return html`
    <p class="row wraps">
      <span class="soft">${plural(total, "event")}</span>
      ${[...counts].map(([type, count]) => {
        const { label, tone, icon } = eventType(type);
        return html`
          <${Badge} key=${type} tone=${tone} icon=${icon}>
            ${label}
            ${count > 1 ? ` × ${count}` : ""}
          <//>
        `;
      })}
    </p>
  `;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
