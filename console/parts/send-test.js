// Send something to one address, to see it in a mail program before others do.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { href } from "../core/router.js";
import { may } from "../core/service.js";
import { Button, TextField } from "./controls.js";
import { CurlButton } from "./code.js";
import { Dialog } from "./dialog.js";
import { Notice } from "./feedback.js";

const TRANSMISSIONS = "api/v1/transmissions";
/** Where the address is kept for the next test, in this browser only. */
const LAST = "postfinch.test-address";

/**
 * `what` is on its way then, such as "The draft"; `bodyFor(address)` returns the transmission,
 * `prepare()` is done before, `problem` says why it cannot be sent, and the children what is sent.
 */
export function SendTest({ title, what, bodyFor, prepare, problem, onClose, children }) {
  const [address, setAddress] = useState(localStorage.getItem(LAST) ?? "");
  const [accepted, setAccepted] = useState(null);
  const send = async () => {
    await prepare?.();
    setAccepted((await post(TRANSMISSIONS, bodyFor(address))).results);
    localStorage.setItem(LAST, address);
    return false;
  };
  if (accepted) {
    return html`
      <${Dialog}
        key="accepted"
        title="Test accepted"
        onClose=${onClose}
        foot=${html`
          <div class="dialog-foot">
            <${Button} onClick=${onClose}>Close<//>
            ${
              may("message_events/view") &&
              html`
                <${Button}
                  kind="primary"
                  icon="activity"
                  href=${href(["activity"], { transmissions: accepted.id })}
                >
                  See its events
                <//>
              `
            }
          </div>
        `}
      >
        <${Notice} tone="good" icon="circle-check">${what} is on its way to ${address}.<//>
      <//>
    `;
  }
  return html`
    <${Dialog}
      key="form"
      title=${title}
      submit="Send"
      disabled=${!address || problem}
      onClose=${onClose}
      onSubmit=${send}
    >
      <p class="soft">${children}</p>
      <${TextField}
        label="To"
        type="email"
        value=${address}
        onInput=${setAddress}
        problem=${problem}
      />
      <div>
        <${CurlButton} kind="small" method="POST" path=${TRANSMISSIONS} body=${bodyFor(address)} />
      </div>
    <//>
  `;
}
