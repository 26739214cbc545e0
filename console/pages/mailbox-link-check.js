// What the links of a message answer, asked when somebody wants to know.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { CurlButton } from "../parts/code.js";
import { Badge, Button, CheckField, Copyable } from "../parts/controls.js";
import { ErrorBox } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { useRequest } from "./mailbox-request.js";

export function LinkCheck({ message }) {
  const [follow, setFollow] = useState(false);
  const path = `local/mailbox/${message.id}/link-check`;
  const query = { follow: follow ? "true" : "" };
  const { data, error, busy, send } = useRequest(() => get(path, query), message.id);
  return html`
    <${Card}
      level=${3}
      title="Where the links lead"
      flush
      actions=${html`<${CurlButton} path=${path} query=${query} />`}
    >
      <div class="body stack small">
        <p class="soft">
          Each link and image is requested once. What the service tracks is not: the address behind
          it is, so no open and no click is counted.
        </p>
        <div class="row wraps">
          <${Button} icon="link" busy=${busy} onClick=${send}>
            ${data ? "Check again" : "Check links"}
          <//>
          <${CheckField} label="Follow redirects" checked=${follow} onChange=${setFollow} />
        </div>
        <div role="status">${data && html`<p class="strong">${summary(data)}</p>`}</div>
        ${error && html`<${ErrorBox} error=${error} />`}
      </div>
      ${
        data?.links.length > 0 &&
        html`
          <ul class="items" aria-label="Links by status">
            ${errorsFirst(data.links).map((each) => html`<${Link} key=${each.url} link=${each} />`)}
          </ul>
        `
      }
    <//>
  `;
}

const isError = ({ status_code: code }) => code === 0 || code >= 400;

function errorsFirst(links) {
  return [...links.filter(isError), ...links.filter((each) => !isError(each))];
}

function summary({ errors, links }) {
  if (!links.length) return "The message has no links that can be requested.";
  if (!errors) return `${plural(links.length, "link")} checked: no errors.`;
  return `${number(errors)} of ${plural(links.length, "link")} with errors.`;
}

function Link({ link }) {
  const { url, status_code: code, status, target } = link;
  const isRedirect = code >= 300 && code < 400;
  const [tone, icon] = isError(link)
    ? ["bad", "circle-x"]
    : isRedirect
      ? ["info", "arrow-right"]
      : ["good", "check"];
  return html`
    <li class="wraps">
      <div class="grow stack small">
        <div class="row wraps">
          <${Badge} tone=${tone} icon=${icon}>${code || "No answer"}<//>
          <span>${status}</span>
        </div>
        <div><${Copyable} text=${url} /></div>
        ${target && html`<div class="row wraps">leads to <${Copyable} text=${target} /></div>`}
      </div>
    </li>
  `;
}
