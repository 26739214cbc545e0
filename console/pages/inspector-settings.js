// How a receiver answers, and the secret with which it verifies signatures.
import { html, useState } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { Badge, Button, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { attempt } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { behaviour, pathOf } from "./inspector-behaviour.js";

const PRESETS = [
  ["Answer 200", "check", { status: 200, delay: 0, times: null }],
  ["Fail once", "circle-x", { status: 500, delay: 0, times: 1 }],
  ["Fail three times", "circle-x", { status: 503, delay: 0, times: 3 }],
  ["Always fail", "ban", { status: 503, delay: 0, times: null }],
  ["Hang once for 60 s", "clock", { status: 200, delay: 60, times: 1 }],
];

export function Settings({ receiver, reload }) {
  const [changing, setChanging] = useState(false);
  const [text, tone, icon] = behaviour(receiver);
  const set = (body) =>
    attempt(() => put(pathOf(receiver.name), body).then(reload), "The next request is answered so");
  return html`
    <${Card}
      title="How it answers"
      actions=${html`
        <${Button} kind="ghost small" icon="pencil" onClick=${() => setChanging(true)}>Change<//>
      `}
    >
      <div class="stack small">
        <div class="row wraps">
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
          ${receiver.times !== null && html`<span class="soft">then it answers 200</span>`}
        </div>
        <div class="row wraps">
          ${PRESETS.map(
            ([label, mark, body]) => html`
              <${Button} key=${label} kind="small" icon=${mark} onClick=${() => set(body)}>
                ${label}
              <//>
            `,
          )}
        </div>
        <div class="row wraps">
          <${Badge} tone=${receiver.has_secret ? "info" : ""} icon="key">
            ${receiver.has_secret ? "Verifies signatures" : "No secret"}
          <//>
          <span class="soft">
            ${
              receiver.has_secret
                ? "Each request is checked with the signing secret."
                : "With the webhook's signing secret, signatures are verified."
            }
          </span>
        </div>
      </div>
      ${
        changing &&
        html`<${Form} receiver=${receiver} onClose=${() => setChanging(false)} onSaved=${reload} />`
      }
    <//>
  `;
}

function Form({ receiver, onClose, onSaved }) {
  const [status, setStatus] = useState(String(receiver.status));
  const [delay, setDelay] = useState(String(receiver.delay));
  const [times, setTimes] = useState(receiver.times === null ? "" : String(receiver.times));
  const [secret, setSecret] = useState("");
  const [forget, setForget] = useState(false);
  const save = async () => {
    const body = {
      status: Number(status),
      delay: Number(delay),
      times: times ? Number(times) : null,
    };
    if (forget) body.secret = null;
    else if (secret) body.secret = secret.trim();
    await put(pathOf(receiver.name), body);
    onSaved();
  };
  return html`
    <${Dialog} title="Change receiver" onClose=${onClose} onSubmit=${save}>
      <${AnswerFields}
        status=${status}
        setStatus=${setStatus}
        delay=${delay}
        setDelay=${setDelay}
        times=${times}
        setTimes=${setTimes}
      />
      <${TextField}
        label="Signing secret"
        optional
        type="password"
        autocomplete="off"
        placeholder="whsec_…"
        disabled=${forget}
        value=${secret}
        onInput=${setSecret}
        hint=${
          receiver.has_secret
            ? "Empty: the present one stays."
            : "The webhook shows it once, when it is made."
        }
      />
      ${
        receiver.has_secret &&
        html`
          <${Button}
            kind="small"
            icon=${forget ? "rotate-ccw" : "x"}
            onClick=${() => setForget(!forget)}
          >
            ${forget ? "Keep the secret" : "Forget the secret"}
          <//>
        `
      }
    <//>
  `;
}

function AnswerFields({ status, setStatus, delay, setDelay, times, setTimes }) {
  return html`
    <div class="form-grid">
      <${TextField}
        label="Status"
        type="number"
        min="200"
        max="599"
        value=${status}
        onInput=${setStatus}
      />
      <${TextField}
        label="Delay in seconds"
        type="number"
        min="0"
        max="600"
        step="any"
        value=${delay}
        onInput=${setDelay}
      />
      <${TextField}
        label="For how many requests"
        optional
        type="number"
        min="1"
        hint="Empty: always. Afterwards it answers 200."
        value=${times}
        onInput=${setTimes}
      />
    </div>
  `;
}
