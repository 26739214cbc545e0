// The links of a message, each tracked one with what it leads to.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { useRecipient } from "./mailbox-recipient.js";

const KINDS = {
  click: ["Tracked", "accent", "mouse-pointer-click"],
  open: ["Open pixel", "info", "mail-open"],
  unsubscribe: ["Unsubscribe", "plum", "user-minus"],
  link: ["Not tracked", "", "link"],
  image: ["Image", "", "image"],
  mailto: ["Mail address", "", "at-sign"],
};
const PARTS = { html: "HTML", text: "text", amp: "AMP", header: "header" };

/**
 * What a recipient can do with a link: the button's text, icon and the action's body; null if
 * nothing.
 */
function actionOf(link) {
  if (link.kind === "click")
    return ["Click", "mouse-pointer-click", { action: "click", url: link.url }];
  if (link.kind === "open") return ["Open", "mail-open", { action: "open" }];
  if (link.kind !== "unsubscribe") return null;
  if (link.part === "header") return ["One click", "user-minus", { action: "unsubscribe" }];
  return ["Unsubscribe", "user-minus", { action: "unsubscribe", way: "page", url: link.url }];
}

export function Links({ message }) {
  const path = `local/mailbox/${message.id}/links`;
  const resource = useResource(
    (signal) => get(path, undefined, { signal }).then((answer) => answer.results),
    [message.id],
  );
  const { busy, act } = useRecipient(message);
  return html`
    <${Loaded} resource=${resource}>
      ${(links) =>
        links.length
          ? html`
            <${Card} level=${3} title="Links" flush actions=${html`<${CurlButton} path=${path} />`}>
              <ul class="items" aria-label="Links">
                ${links.map(
                  (link, index) => html`
                    <${Link}
                      key=${index}
                      link=${link}
                      busy=${busy === String(index)}
                      act=${(body) => act(String(index), body)}
                    />
                  `,
                )}
              </ul>
            <//>
          `
          : html`
            <${Empty} level=${3} icon="link" title="No link">
              The message has neither links nor images.
            <//>
          `}
    <//>
  `;
}

function Link({ link, busy, act }) {
  const [label, tone, icon] = KINDS[link.kind];
  const action = actionOf(link);
  const goal = link.target ?? link.url;
  return html`
    <li class="wraps">
      <div class="grow link-facts">
        <div class="row wraps">
          <${Badge} tone=${tone} icon=${icon}>${label}<//>
          ${
            link.text &&
            link.text !== link.url &&
            html`<span class="clip strong">${link.text}</span>`
          }
          <span class="soft">
            in the ${PARTS[link.part] ?? link.part}
            ${link.name && link.name !== link.text ? `, ${link.name}` : ""}
          </span>
        </div>
        <dl class="facts small">
          ${link.target && html`<dt>Leads to</dt><dd><${Copyable} text=${link.target} /></dd>`}
          <dt>${link.target ? "Through" : "Address"}</dt>
          <dd><${Copyable} text=${link.url} /></dd>
        </dl>
      </div>
      ${
        action &&
        html`
          <${Button} kind="small" icon=${action[1]} busy=${busy} onClick=${() => act(action[2])}>
            ${action[0]}
            <span class="visually-hidden"> ${link.text || goal}</span>
          <//>
        `
      }
    </li>
  `;
}
