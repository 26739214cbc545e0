// Add one recipient to the suppression list.
import { html, useState } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { go } from "../core/router.js";
import { EFFECTS, pathOf, TYPES } from "../core/suppressions.js";
import { SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { toast } from "../parts/feedback.js";

export function AddDialog({ onClose, onSaved }) {
  const [recipient, setRecipient] = useState("");
  const [type, setType] = useState("non_transactional");
  const [list, setList] = useState("");
  const [description, setDescription] = useState("");
  const save = async () => {
    const body = { type };
    if (description.trim()) body.description = description.trim();
    if (list.trim() && type !== "open_tracking") body.list_id = list.trim();
    await put(pathOf(recipient.trim()), body);
    toast("Added");
    onSaved();
    go(["audience", "suppressions", recipient.trim().toLowerCase()]);
  };
  return html`
    <${Dialog}
      title="Add to the suppression list"
      submit="Add"
      disabled=${!recipient.trim()}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField}
        label="Recipient"
        type="email"
        placeholder="anna@example.com"
        value=${recipient}
        onInput=${setRecipient}
        spellcheck="false"
        autocapitalize="none"
      />
      <${SelectField}
        label="Type"
        hint=${EFFECTS[type]}
        value=${type}
        options=${Object.entries(TYPES)}
        onChange=${setType}
      />
      ${type !== "open_tracking" && html`<${MailingListField} list=${list} setList=${setList} />`}
      <${TextField}
        label="Description"
        optional
        placeholder="Asked for it by phone"
        value=${description}
        onInput=${setDescription}
      />
    <//>
  `;
}

function MailingListField({ list, setList }) {
  return html`
    <${TextField}
      label="Mailing list"
      optional
      hint="Its List-ID. Empty: mail of every list."
      placeholder="news.example.com"
      value=${list}
      onInput=${setList}
      spellcheck="false"
    />
  `;
}
