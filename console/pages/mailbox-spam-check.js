// What a spam filter says about a message, if the service knows one.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { CurlButton } from "../parts/code.js";
import { Badge, Button } from "../parts/controls.js";
import { ErrorBox, Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { useRequest } from "./mailbox-request.js";

const NO_CHECKER = 409;
const points = (value) => `${Math.round(value * 100) / 100}`;

export function SpamCheck({ message }) {
  const path = `local/mailbox/${message.id}/spam-check`;
  const { data, error, busy, send } = useRequest(() => get(path), message.id);
  return html`
    <${Card}
      level=${3}
      title="Spam filter"
      flush
      actions=${html`<${CurlButton} path=${path} />`}
    >
      <div class="body stack small">
        <p class="soft">SpamAssassin or rspamd judges the message, as a mail host would.</p>
        <div>
          <${Button} icon="shield-alert" busy=${busy} onClick=${send}>
            ${data ? "Judge again" : "Judge the message"}
          <//>
        </div>
        <div role="status">
          ${data && !data.error && html`<${Verdict} check=${data} />`}
          ${error?.status === NO_CHECKER && html`<${NoChecker} />`}
        </div>
        ${data?.error && html`<${Notice} tone="warn" icon="alert-triangle">${data.error}<//>`}
        ${error && error.status !== NO_CHECKER && html`<${ErrorBox} error=${error} />`}
      </div>
      ${data?.rules.length > 0 && html`<${Rules} rules=${data.rules} />`}
    <//>
  `;
}

function NoChecker() {
  return html`
    <${Notice}>
      No spam filter is set. Start the service with <code>SPAM_CHECK</code>, such as
      <code> spamd://localhost:783</code> or <code>rspamd://localhost:11333</code>.
    <//>
  `;
}

function Verdict({ check }) {
  return html`
    <div class="row wraps">
      ${
        check.is_spam
          ? html`<${Badge} tone="bad" icon="shield-alert">Spam<//>`
          : html`<${Badge} tone="good" icon="shield-check">Not spam<//>`
      }
      <span class="strong">Score ${points(check.score)}</span>
    </div>
  `;
}

function Rules({ rules }) {
  const sorted = [...rules].sort((a, b) => b.score - a.score);
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Rules of the spam filter">
      <table class="table">
        <thead>
          <tr>
            <th scope="col" class="right">Points</th>
            <th scope="col">Rule</th>
            <th scope="col">What it means</th>
          </tr>
        </thead>
        <tbody>
          ${sorted.map(
            (each) => html`
              <tr key=${each.name}>
                <td class="right num">${points(each.score)}</td>
                <th scope="row" class="mono">${each.name}</th>
                <td class="wrap">${each.description || html`<span class="faint">–</span>`}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}
