// Tell whether mail to an address, or to the recipients of a list, is likely to arrive.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { explain, kindsOf, PATH, RESULTS } from "../core/validation.js";
import { Badge, Button, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { ListValidation } from "./audience-validation-list.js";

const pathOf = (address) => `${PATH}/single/${encodeURIComponent(address)}`;

export function Validation() {
  // Recipient lists belong to the account: subaccounts have none
  const lists = may("recipient_lists/manage") && ["", "0"].includes(subaccount.value);
  return html`
    <div class="pane-body">
      <div class="pane-content">
        <div class="stack large">
          <${AddressValidation} />
          ${lists && html`<${ListValidation} />`}
        </div>
      </div>
    </div>
  `;
}

function AddressValidation() {
  const address = route.value.query.address ?? "";
  const [text, setText] = useState(address);
  useEffect(() => setText(address), [address]);
  const submit = (event) => {
    event.preventDefault();
    setQuery({ address: text.trim() });
  };
  return html`
    <${Card}
      title="One address"
      actions=${address && html`<${CurlButton} path=${pathOf(address)} />`}
    >
      <form class="stack" onSubmit=${submit} novalidate>
        <${TextField}
          label="Address"
          type="email"
          hint="Its syntax, its domain and what this service knows of it. No mail is sent."
          placeholder="anna@example.com"
          value=${text}
          onInput=${setText}
          spellcheck="false"
          autocapitalize="none"
        />
        <div class="row">
          <${Button} type="submit" kind="primary" icon="search" disabled=${!text.trim()}>
            Validate address
          <//>
        </div>
        ${address && html`<${Verdict} key=${address} address=${address} />`}
      </form>
    <//>
  `;
}

function Verdict({ address }) {
  const resource = useResource((signal) => get(pathOf(address), undefined, { signal }), [address]);
  return html`
    <div role="status" aria-label="Result">
      <${Loaded} resource=${resource}>
        ${({ results }) => html`<${Judged} address=${address} verdict=${results} />`}
      <//>
    </div>
  `;
}

function Judged({ address, verdict }) {
  const [text, tone, icon] = RESULTS[verdict.result];
  const kinds = verdict.did_you_mean ? [] : kindsOf(verdict);
  return html`
    <dl class="facts">
      <dt>Address</dt>
      <dd class="wrap">${address}</dd>
      <dt>Result</dt>
      <dd>
        <${Badge} tone=${tone} icon=${icon}>${text}<//>
        <p class="soft">${explain(verdict)}</p>
      </dd>
      ${
        verdict.did_you_mean &&
        html`
          <dt>Meant</dt>
          <dd>
            <a href=${href(["audience", "validation"], { address: verdict.did_you_mean })}>
              ${verdict.did_you_mean}
            </a>
          </dd>
        `
      }
      <dt>Confidence</dt>
      <dd class="num">${verdict.delivery_confidence} of 100</dd>
      ${
        kinds.length > 0 &&
        html`<dt>Kind</dt><dd>${kinds.map((each) => html`<${Badge}>${each}<//> `)}</dd>`
      }
    </dl>
  `;
}
