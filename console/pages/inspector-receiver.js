// One receiver: what arrived, newest first, and how it answers.
import { html, useState } from "../vendor/preact.js";
import { base, get, remove } from "../core/api.js";
import { bytes } from "../core/format.js";
import { useLive } from "../core/live.js";
import { useResource } from "../core/resource.js";
import { go, href } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Copyable, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { useNarrow } from "../parts/list.js";
import { Card, PageHead } from "../parts/page.js";
import { pathOf } from "./inspector-behaviour.js";
import { RequestView, signature } from "./inspector-request.js";
import { Settings } from "./inspector-settings.js";
import { pointWebhook, Webhooks } from "./inspector-webhook.js";

const LIMIT = 200;

export function ReceiverView({ name, request }) {
  const path = pathOf(name);
  const receiver = useResource(
    (signal) => get(path, undefined, { signal }).then((answer) => answer.results),
    [name],
  );
  const requests = useResource(
    (signal) =>
      get(`${path}/requests`, { limit: LIMIT }, { signal }).then((answer) => answer.results),
    [name],
  );
  const [pointed, setPointed] = useState(0);
  const [busy, setBusy] = useState(false);
  const narrow = useNarrow();
  const reload = () => {
    receiver.reload();
    requests.reload();
  };
  const connected = useLive({ webhook: (data) => data.receiver === name && reload(), gap: reload });
  const target = `${base}${path}`;
  const { clear, destroy, point } = receiverActions({
    setBusy,
    setPointed,
    reload,
    name,
    target,
    path,
  });
  if (receiver.error?.status === 404) {
    return html`<${Gone} name=${name} />`;
  }
  const list = html`
    <${RequestList}
      connected=${connected}
      requests=${requests}
      clear=${clear}
      path=${path}
      name=${name}
      request=${request}
    />
  `;
  return html`
    <div class="page">
      <${Head} name=${name} target=${target} destroy=${destroy} busy=${busy} point=${point} />
      <${Contents}
        request=${request}
        narrow=${narrow}
        list=${list}
        name=${name}
        receiver=${receiver}
        pointed=${pointed}
        target=${target}
        reload=${reload}
      />
    </div>
  `;
}

function Contents({ request, narrow, list, name, receiver, pointed, target, reload }) {
  return html`
    <div class="columns">
      ${!(request && narrow) && list}
      <div class="stack">
        ${
          request
            ? html`
              <${RequestView} key=${request} name=${name} id=${request} settings=${receiver.data} />
            `
            : html`
              <${Loaded} resource=${receiver}>
                ${(data) => html`<${Settings} receiver=${data} reload=${reload} />`}
              <//>
              ${may("webhooks/view") && html`<${Webhooks} key=${pointed} target=${target} />`}
            `
        }
      </div>
    </div>
  `;
}

function Head({ name, target, destroy, busy, point }) {
  return html`
    <${PageHead}
      title=${name}
      about=${html`<${Copyable} text=${target} />`}
      back=${["Webhook inspector", href(["inspector"])]}
    >
      <${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
      ${
        may("webhooks/modify") &&
        html`
          <${Button} kind="primary" icon="webhook" busy=${busy} onClick=${point}>
            Point a new webhook here
          <//>
        `
      }
    <//>
  `;
}

function Gone({ name }) {
  return html`
    <div class="page">
      <${PageHead} title=${name} back=${["Webhook inspector", href(["inspector"])]} />
      <${Card}>
        <${Empty} icon="radio" title="This receiver is gone">
          It was deleted, or nothing was posted to it yet.
        <//>
      <//>
    </div>
  `;
}

function RequestList({ connected, requests, clear, path, name, request }) {
  return html`
    <${Card}
      flush
      title="Requests"
      actions=${html`
        <span class="row wraps">
          <span class="live ${connected ? "on" : ""}">${connected ? "Live" : "Connecting"}</span>
          ${
            requests.data?.length > 0 &&
            html`<${Button} kind="ghost small" icon="trash-2" onClick=${clear}>Clear<//>`
          }
          <${CurlButton} path="${path}/requests" />
        </span>
      `}
    >
      <${Loaded} resource=${requests}>
        ${(rows) =>
          rows.length
            ? html`<${Requests} name=${name} requests=${rows} active=${request} />`
            : html`
              <${Empty} level=${3} icon="inbox" title="Nothing arrived yet">
                Point a webhook here, or post to the address yourself. Requests appear at once.
              <//>
            `}
      <//>
    <//>
  `;
}

function receiverActions({ setBusy, setPointed, reload, name, target, path }) {
  const point = async () => {
    setBusy(true);
    await attempt(
      () => pointWebhook(name, target),
      "The webhook posts here; its batches are signed",
    );
    setBusy(false);
    setPointed((n) => n + 1);
    reload();
  };
  const clear = async () => {
    if (
      !(await confirm({
        title: "Delete the requests?",
        text: `Everything that arrived at ${name} is deleted.`,
      }))
    )
      return;
    if (await attempt(() => remove(`${path}/requests`).then(reload), "Deleted"))
      go(["inspector", name]);
  };
  const destroy = async () => {
    if (
      !(await confirm({
        title: `Delete ${name}?`,
        text:
          "What arrived is deleted too. A webhook that still points here makes the receiver " +
          "again.",
      }))
    )
      return;
    if (await attempt(() => remove(path), "Deleted")) go(["inspector"]);
  };
  return { clear, destroy, point };
}

function Requests({ name, requests, active }) {
  return html`
    <ul class="items" aria-label="Requests" aria-live="polite">
      ${requests.map((each) => {
        const [text, tone, icon] = signature(each.signature);
        return html`
          <li key=${each.id} class="wraps">
            <div class="grow">
              <div>
                <a
                  class="strong"
                  href=${href(["inspector", name, each.id])}
                  aria-current=${String(each.id) === active ? "true" : undefined}
                >
                  Request ${each.id}
                </a>
              </div>
              <div>${bytes(each.size)}, <${Time} at=${each.received_at} /></div>
            </div>
            <${Badge} tone=${tone} icon=${icon}>${text}<//>
            <${Badge}
              tone=${each.status < 300 ? "good" : "bad"}
              icon=${each.status < 300 ? "check" : "circle-x"}
            >
              ${each.status}
              ${each.delay ? ` after ${each.delay} s` : ""}
            <//>
          </li>
        `;
      })}
    </ul>
  `;
}
