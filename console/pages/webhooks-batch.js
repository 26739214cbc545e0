// One batch of a webhook: every attempt to post it, what was posted, and posting it again.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { useInterval, useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Copyable, Icon, Time } from "../parts/controls.js";
import { CurlButton, Json } from "../parts/code.js";
import { attempt as tryTo, Empty, Loaded } from "../parts/feedback.js";
import { PageLink } from "../parts/links.js";
import { Card } from "../parts/page.js";

/** How a batch or an attempt went: text, tone and icon of its badge. */
export function outcome({ response_code: code, failure_code: failure }) {
  if (!code && !failure) return ["Queued", "info", "clock"];
  if (code === "200") return ["Delivered", "good", "check"];
  return [code ? `Status ${code}` : failure, "bad", "circle-x"];
}

export function BatchView({ kind, webhook, id, onChange }) {
  const path = `${kind.path}/${encodeURIComponent(webhook)}/batches/${encodeURIComponent(id)}`;
  const resource = useResource((signal) => get(path, undefined, { signal }), [id]);
  const [busy, setBusy] = useState(false);
  const batch = resource.data?.results;
  const queued = batch && !batch.response_code && !batch.failure_code;
  useInterval(
    () => {
      resource.reload();
      onChange();
    },
    queued ? 1 : 0,
  );
  const redeliver = async () => {
    setBusy(true);
    await tryTo(() => post(`${path}/redeliver`), "The batch is queued");
    await Promise.all([resource.reload(), onChange()]);
    setBusy(false);
  };
  const actions = html`
    <${CurlButton} path=${path} />
    <${Button} kind="ghost small" icon="x" href=${href([...kind.home, webhook])}>Close<//>
  `;
  return html`
    <${Card} title=${kind.unit === "message" ? "Message" : "Batch"} actions=${actions}>
      <${Loaded} resource=${resource}>
        ${({ results }) => html`
          <div class="stack">
            <${BatchHead}
              kind=${kind}
              results=${results}
              busy=${busy}
              queued=${queued}
              redeliver=${redeliver}
            />
            <${Attempts} results=${results} />
            ${
              results.payload
                ? html`
                  <section class="stack small">
                    <h3>Payload</h3>
                    <${Json} value=${JSON.parse(results.payload)} label="Payload" />
                  </section>
                `
                : html`
                  <p class="soft">${NO_PAYLOAD[kind.unit]}</p>
                `
            }
          </div>
        `}
      <//>
    <//>
  `;
}

const NO_PAYLOAD = {
  event: "The payload is shown to keys that may change webhooks or read events.",
  message:
    "The payload is shown to keys that may change relay webhooks, unless it is too large to be " +
    "shown or the message was deleted.",
};

function BatchHead({ kind, results, busy, queued, redeliver }) {
  return html`
    <div class="row wraps">
      <${Copyable} text=${results.batch_id} />
      ${
        kind.unit === "message"
          ? html`<${PageLink} path=${["received", results.batch_id]}>The message<//>`
          : html`<span class="soft">${plural(results.batch_size, kind.unit)}</span>`
      }
      ${
        may(kind.modify) &&
        html`
          <${Button} kind="small" icon="rotate-ccw" busy=${busy || queued} onClick=${redeliver}>
            Redeliver
          <//>
        `
      }
    </div>
  `;
}

function Attempts({ results }) {
  return html`
    <section class="stack small">
      <h3>Attempts</h3>
      ${
        results.history.length
          ? html`
            <ol class="timeline" aria-label="Attempts">
              ${results.history.map((each) => html`<${Attempt} key=${each.ts} attempt=${each} />`)}
            </ol>
          `
          : html`<${Empty} level=${3} icon="clock" title="Not posted yet" />`
      }
    </section>
  `;
}

function Attempt({ attempt }) {
  const [text, tone, icon] = outcome(attempt);
  const answer = attempt.response ?? attempt.reason;
  return html`
    <li>
      <span class="mark ${tone}"><${Icon} name=${icon} /></span>
      <div class="grow">
        <div class="row wraps">
          <${Badge} tone=${tone}>${text}<//>
          <span class="soft num"><${Time} at=${attempt.ts} /></span>
          <span class="soft num">${number(attempt.latency)} ms</span>
        </div>
        ${answer && html`<p class="quote wrap">${answer}</p>`}
      </div>
    </li>
  `;
}
