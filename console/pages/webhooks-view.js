// One webhook: what it gets, how its batches went, and what can be done with it.
import { html, useState } from "../vendor/preact.js";
import { get, post, remove } from "../core/api.js";
import { exactTime, number, plural } from "../core/format.js";
import { useInterval, useResource } from "../core/resource.js";
import { go, href } from "../core/router.js";
import { may, subaccountName } from "../core/service.js";
import { AUTH, KINDS, sourceName } from "../core/webhooks.js";
import { Badge, Button, Copyable, Time } from "../parts/controls.js";
import { Code, CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded, toast } from "../parts/feedback.js";
import { useNarrow } from "../parts/list.js";
import { LastChanged } from "../parts/last-changed.js";
import { PageLink } from "../parts/links.js";
import { Card, PageHead } from "../parts/page.js";
import { BatchView, outcome } from "./webhooks-batch.js";
import { WebhookForm } from "./webhooks-form.js";
import { RelayForm } from "./webhooks-relay-form.js";

export function WebhookView({ kind, id, batch }) {
  const path = `${kind.path}/${encodeURIComponent(id)}`;
  const webhook = useResource((signal) => get(path, undefined, { signal }), [id]);
  const batches = useResource(
    (signal) => get(`${path}/batch-status`, { limit: 200 }, { signal }),
    [id],
  );
  const narrow = useNarrow();
  useInterval(batches.reload, 10);
  return html`
    <div class="page">
      <${Loaded} resource=${webhook}>
        ${({ results }) => html`
          <${Head} kind=${kind} webhook=${results} path=${path} reload=${webhook.reload} />
          <div class="columns uneven">
            ${
              !(batch && narrow) &&
              html`<${BatchList} kind=${kind} id=${id} batches=${batches} active=${batch} />`
            }
            ${
              batch
                ? html`
                  <${BatchView}
                    key=${batch}
                    kind=${kind}
                    webhook=${id}
                    id=${batch}
                    onChange=${batches.reload}
                  />
                `
                : html`<${Facts} kind=${kind} webhook=${results} />`
            }
          </div>
        `}
      <//>
    </div>
  `;
}

/** The address of the list of a kind of webhooks. */
const listOf = (kind) => [["webhooks"], { kind: kind === KINDS.relay ? "relay" : "" }];

function Head({ kind, webhook, path, reload }) {
  return html`
    <${PageHead}
      title=${webhook.name || `Relay webhook of ${webhook.match.domain}`}
      about=${webhook.target}
      back=${["Webhooks", href(...listOf(kind))]}
    >
      <${CurlButton} path=${path} />
      ${
        may(kind.modify) &&
        html`<${Actions} kind=${kind} webhook=${webhook} path=${path} reload=${reload} />`
      }
    <//>
  `;
}

function BatchList({ kind, id, batches, active }) {
  return html`
    <${Card}
      flush
      title=${kind.batches}
      actions=${html`
        <${Button} kind="ghost small" icon="refresh-cw" onClick=${batches.reload}>Reload<//>
      `}
    >
      <${Loaded} resource=${batches}>
        ${(answer) => html`
          <${Batches} kind=${kind} webhook=${id} batches=${answer.results} active=${active} />
        `}
      <//>
    <//>
  `;
}

function EventFacts({ webhook }) {
  return html`
    <dt>State</dt>
    <dd>${webhook.active ? "Active" : "Inactive"}</dd>
    <dt>Events</dt>
    <dd class="row wraps">
      ${webhook.events.map((each) => html`<${Badge} key=${each}>${each}<//>`)}
    </dd>
    <dt>Of</dt>
    <dd>${sourceName(webhook.subaccount_id)}</dd>
    ${
      webhook.exception_subaccounts?.length > 0 &&
      html`
        <dt>Except</dt>
        <dd>${webhook.exception_subaccounts.map(subaccountName).join(", ")}</dd>
      `
    }
  `;
}

function RelayFacts({ webhook }) {
  const { domain } = webhook.match;
  return html`
    <dt>Mail to</dt>
    <dd><${PageLink} path=${["domains", "inbound", domain]}>${domain}<//></dd>
  `;
}

function Facts({ kind, webhook }) {
  return html`
    <${Card} title="Settings">
      <dl class="facts">
        <${kind === KINDS.relay ? RelayFacts : EventFacts} webhook=${webhook} />
        <dt>Authentication</dt>
        <dd>${AUTH.find(([each]) => each === webhook.auth_type)?.[1]}</dd>
        ${
          Object.keys(webhook.custom_headers ?? {}).length > 0 &&
          html`
            <dt>Custom headers</dt>
            <dd class="mono wrap">${Object.keys(webhook.custom_headers).join(", ")}</dd>
          `
        }
        <dt>Signed</dt>
        <dd>${webhook.signed ? "Yes, as Standard Webhooks describes" : "No"}</dd>
        <dt>Id</dt>
        <dd><${Copyable} text=${webhook.id} /></dd>
      </dl>
      <${LastChanged} resource=${kind.resource} id=${webhook.id} of=${webhook} />
    <//>
  `;
}

function Actions({ kind, webhook, path, reload }) {
  const [changing, setChanging] = useState(false);
  const [secret, setSecret] = useState("");
  const [busy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    await attempt(async () => {
      const { results } = await post(`${path}/validate`, {});
      toast(`The target answered ${results.response.status}`);
    });
    setBusy(false);
  };
  const { sign, stopSigning, destroy } = webhookActions({ kind, webhook, setSecret, path, reload });
  const Form = kind === KINDS.relay ? RelayForm : WebhookForm;
  return html`
    <${Button} icon="send" busy=${busy} onClick=${test}>Test<//>
    <${Button} icon="key" onClick=${sign}>Signing secret<//>
    ${webhook.signed && html`<${Button} icon="x" onClick=${stopSigning}>Stop signing<//>`}
    <${Button} icon="pencil" onClick=${() => setChanging(true)}>Change<//>
    <${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
    ${
      changing &&
      html`
        <${Form} webhook=${webhook} onClose=${() => setChanging(false)} onSaved=${reload} />
      `
    }
    ${
      secret &&
      html`
        <${Dialog} title="Signing secret" onClose=${() => setSecret("")}>
          <p class="soft">Copy it now: it is shown this once. Receivers verify batches with it.</p>
          <${Code} text=${secret} label="Secret" />
        <//>
      `
    }
  `;
}

function webhookActions({ kind, webhook, setSecret, path, reload }) {
  const sign = async () => {
    if (
      webhook.signed &&
      !(await confirm({
        title: "Make another signing secret?",
        text: "The former one stays in use for a day, so that receivers can change over.",
        action: "Make secret",
      }))
    )
      return;
    await attempt(async () => {
      setSecret((await post(`${path}/signing-secret`)).results.signing_secret);
      reload();
    });
  };
  const stopSigning = async () => {
    if (
      !(await confirm({
        title: "Stop signing?",
        text:
          "Batches carry no signature from now on, and every signing secret of this webhook " +
          "is forgotten. Receivers that verify signatures refuse them.",
        action: "Stop signing",
      }))
    )
      return;
    if (await attempt(() => remove(`${path}/signing-secret`), "Batches are not signed any more"))
      reload();
  };
  const destroy = async () => {
    if (
      !(await confirm({
        title: `Delete ${webhook.name || "the relay webhook"}?`,
        text: kind.loss,
      }))
    )
      return;
    if (await attempt(() => remove(path), "Deleted")) go(...listOf(kind));
  };
  return { sign, stopSigning, destroy };
}

function Batches({ kind, webhook, batches, active }) {
  if (!batches.length)
    return html`
      <${Empty} level=${3} icon="inbox" title=${kind.none}>${kind.noneYet}<//>
    `;
  return html`
    <ul class="items" aria-label="Batches">
      ${batches.map((each) => {
        const [text, tone, icon] = outcome(each);
        return html`
          <li key=${each.batch_id}>
            <div class="grow">
              <div class="row">
                <a
                  class="clip strong mono"
                  href=${href([...kind.home, webhook, each.batch_id])}
                  aria-current=${each.batch_id === active ? "true" : undefined}
                >
                  ${each.batch_id}
                </a>
              </div>
              <div>
                ${plural(each.batch_size, kind.unit)}
                ${each.attempts ? `, ${plural(each.attempts, "failed attempt")}` : ""}
                ${each.latency ? `, ${number(each.latency)} ms` : ""}
              </div>
            </div>
            <${Badge} tone=${tone} icon=${icon}>${text}<//>
            <span class="soft" title=${exactTime(each.ts)}><${Time} at=${each.ts} /></span>
          </li>
        `;
      })}
    </ul>
  `;
}
