// Release a message: send it to real addresses, which the service's list must allow.
import { html, useState } from "../vendor/preact.js";
import { ApiError, post } from "../core/api.js";
import { recipientsOf } from "../core/envelope.js";
import { plural } from "../core/format.js";
import { admits, releasing } from "../core/releasing.js";
import { Button, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Notice, toast } from "../parts/feedback.js";

const HOST_FAILED = 502;

/** The button, where releasing is on. */
export function Release({ message }) {
  const [open, setOpen] = useState(false);
  if (!releasing.value.host || !message) return null;
  return html`
    <${Button}
      icon="send"
      kind="small release"
      aria-label="Release"
      title="Send it to real addresses"
      onClick=${() => setOpen(true)}
    >
      <span>Release</span>
    <//>
    ${open && html`<${ReleaseDialog} message=${message} onClose=${() => setOpen(false)} />`}
  `;
}

function ReleaseDialog({ message, onClose }) {
  const { host, recipients: allowed } = releasing.value;
  const recipients = recipientsOf(message);
  const others = recipients.filter((each) => !admits(allowed, each));
  const [text, setText] = useState(recipients.filter((each) => admits(allowed, each)).join("\n"));
  const [outcome, setOutcome] = useState(/** @type {any} */ (null));
  const to = text
    .split(/[\s,;]+/)
    .map((each) => each.trim())
    .filter(Boolean);
  const change = (value) => {
    setText(value);
    setOutcome(null);
  };
  const send = async () => {
    setOutcome(null);
    const { results } = await post(`local/mailbox/${message.id}/release`, { to }).catch(inPlace);
    if (results.to.length) toast(`Released to ${plural(results.to.length, "recipient")}`);
    if (!results.refused.length) return true;
    // Who got it does not get it again
    setText(results.refused.map((each) => each.address).join("\n"));
    setOutcome(results);
    return false;
  };
  return html`
    <${Dialog}
      title="Release the message"
      submit="Release"
      disabled=${!to.length}
      onClose=${onClose}
      onSubmit=${send}
    >
      <${Notice} tone="warn" icon="alert-triangle">
        The message leaves this machine by <b>${host}</b> and is sent to real addresses.
      <//>
      <${TextField}
        label="Recipients"
        multiline
        rows=${Math.min(8, Math.max(3, to.length))}
        value=${text}
        onInput=${change}
        spellcheck="false"
        autocomplete="off"
        hint=${`One on each line. Allowed: ${allowed.join(", ")}`}
      />
      ${
        others.length > 0 &&
        html`<p class="soft">Not allowed, and left out: ${others.join(", ")}.</p>`
      }
      ${outcome && html`<${Refusals} outcome=${outcome} host=${host} />`}
    <//>
  `;
}

/** What the mail server answered to those that it refused. */
function Refusals({ outcome, host }) {
  return html`
    <div class="notice bad" role="alert">
      <div class="grow wrap">
        <p class="strong">
          ${outcome.to.length ? `Released to ${outcome.to.join(", ")}, but ` : ""}${host} refused:
        </p>
        <ul>
          ${outcome.refused.map(
            ({ address, reply }) => html`<li key=${address}>${address}: ${reply}</li>`,
          )}
        </ul>
      </div>
    </div>
  `;
}

/** A failure of the mail server is none of the service: its log has no more to say. */
function inPlace(error) {
  if (error instanceof ApiError && error.status === HOST_FAILED) throw new Error(error.message);
  throw error;
}
