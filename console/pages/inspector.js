// Webhook inspector: receivers of this machine that show what arrives, and fail or hang when told
// to.
import { html, useState } from "../vendor/preact.js";
import { base, get, put } from "../core/api.js";
import { plural } from "../core/format.js";
import { useLive } from "../core/live.js";
import { useResource } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { Badge, Button, Copyable, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { behaviour, PATH, pathOf } from "./inspector-behaviour.js";
import { ReceiverView } from "./inspector-receiver.js";

export default function Inspector() {
  const { path } = route.value;
  return path[1]
    ? html`<${ReceiverView} key=${path[1]} name=${path[1]} request=${path[2]} />`
    : html`<${Receivers} />`;
}

function Receivers() {
  const resource = useResource((signal) =>
    get(PATH, undefined, { signal }).then((answer) => answer.results),
  );
  const [adding, setAdding] = useState(false);
  useLive({ webhook: resource.reload, gap: resource.reload });
  const add = html`
    <${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>Add receiver<//>
  `;
  return html`
    <div class="page">
      <${PageHead}
        title="Webhook inspector"
        about=${
          "Receivers on this machine that show each batch as it arrives, verify its " +
          "signature, and fail or hang when you say so."
        }
      >
        <${CurlButton} path=${PATH} />
        ${add}
      <//>
      <${Card} flush>
        <${Loaded} resource=${resource}>
          ${(receivers) =>
            receivers.length
              ? html`
                <ul class="items" aria-label="Receivers">
                  ${receivers.map((each) => {
                    const [text, tone, icon] = behaviour(each);
                    return html`
                      <${Receiver}
                        key=${each.name}
                        receiver=${each}
                        tone=${tone}
                        icon=${icon}
                        text=${text}
                      />
                    `;
                  })}
                </ul>
              `
              : html`
                <${Empty} icon="radio" title="No receiver yet" actions=${add}>
                  Add one, and point a webhook at it with one click. Any POST
                  to <code>${base}${PATH}/NAME</code> makes a receiver too.
                <//>
              `}
        <//>
      <//>
      ${adding && html`<${AddReceiver} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function Receiver({ receiver, tone, icon, text }) {
  return html`
    <li class="wraps">
      <div class="grow">
        <div>
          <a class="strong" href=${href(["inspector", receiver.name])}>
            ${receiver.name}
          </a>
        </div>
        <div><${Copyable} text=${`${base}${receiver.path.slice(1)}`} /></div>
      </div>
      ${receiver.has_secret && html`<${Badge} tone="info" icon="key">Verifies signatures<//>`}
      <${Badge} tone=${tone} icon=${icon}>${text}<//>
      <span class="soft num">${plural(receiver.requests, "request")}</span>
    </li>
  `;
}

function AddReceiver({ onClose }) {
  const [name, setName] = useState("inspector");
  const save = async () => {
    await put(pathOf(name), {});
    go(["inspector", name]);
  };
  return html`
    <${Dialog}
      title="Add receiver"
      submit="Add"
      disabled=${!/^[\w.-]{1,64}$/.test(name)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField}
        label="Name"
        class="mono"
        hint="Letters, digits, dots, _ and -. It is the last part of the receiver's address."
        value=${name}
        onInput=${setName}
        spellcheck="false"
        autocapitalize="none"
      />
    <//>
  `;
}
