// The webhooks that post to a receiver: making one with a click, and those that there are.
import { html } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { Badge } from "../parts/controls.js";
import { Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { pathOf } from "./inspector-behaviour.js";
import { health } from "./webhooks.js";

const PATH = "api/v1/webhooks";

/** Add a webhook for all events whose batches are signed, and tell the receiver its secret. */
export async function pointWebhook(name, target) {
  const groups = (await get(`${PATH}/events/documentation`)).results;
  const events = Object.values(groups).flatMap((group) => Object.keys(group.events));
  const { id } = (await post(PATH, { name: `Inspector: ${name}`, target, events })).results;
  const secret = (await post(`${PATH}/${id}/signing-secret`)).results.signing_secret;
  await put(pathOf(name), { secret });
}

export function Webhooks({ target }) {
  const resource = useResource(
    (signal) =>
      get(PATH, undefined, { signal }).then((answer) =>
        answer.results.filter((each) => each.target === target),
      ),
    [target],
  );
  return html`
    <${Card} title="Webhooks that post here" flush>
      <${Loaded} resource=${resource}>
        ${(webhooks) =>
          webhooks.length
            ? html`
              <ul class="items" aria-label="Webhooks">
                ${webhooks.map((each) => {
                  const [text, tone, icon] = health(each);
                  return html`
                    <li key=${each.id}>
                      <a class="grow strong clip" href=${href(["webhooks", each.id])}>
                        ${each.name}
                      </a>
                      <${Badge} tone=${tone} icon=${icon}>${text}<//>
                    </li>
                  `;
                })}
              </ul>
            `
            : html`<p class="ok">None yet.</p>`}
      <//>
    <//>
  `;
}
