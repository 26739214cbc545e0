// Send the draft of a template to an address, with the test data.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { href } from "../core/router.js";
import { may } from "../core/service.js";
import { Button, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Notice } from "../parts/feedback.js";

const TRANSMISSIONS = "api/v1/transmissions";

export function SendTest({ id, parsed, changed, save, onClose }) {
  const [address, setAddress] = useState("");
  const [accepted, setAccepted] = useState(null);
  const body = { recipients: [{ address: { email: address } }], substitution_data: parsed.value ?? {}, content: { template_id: id, use_draft_template: true } };
  const send = async () => {
    if (changed) await save();
    setAccepted((await post(TRANSMISSIONS, body)).results);
    return false;
  };
  if (accepted) {
    return html`<${Dialog} key="accepted" title="Test accepted" onClose=${onClose} foot=${html`<div class="dialog-foot"><${Button} onClick=${onClose}>Close<//>
      ${may("message_events/view") && html`<${Button} kind="primary" icon="activity" href=${href(["activity"], { transmissions: accepted.id })}>See its events<//>`}</div>`}>
      <${Notice} tone="good" icon="circle-check">The draft is on its way to ${address}.<//><//>`;
  }
  return html`<${Dialog} key="form" title="Send a test" submit="Send" disabled=${!address || parsed.problem} onClose=${onClose} onSubmit=${send}>
    <p class="soft">The draft is sent with the test data, as any other mail: it is counted and its events appear.${changed && " Your changes are saved first."}</p>
    <${TextField} label="To" type="email" value=${address} onInput=${setAddress} problem=${parsed.problem && `Test data: ${parsed.problem}`} />
    <div><${CurlButton} kind="small" method="POST" path=${TRANSMISSIONS} body=${body} /></div><//>`;
}
