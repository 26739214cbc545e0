// Create a recipient list, change what it is called, or replace its recipients.
import { html, useState } from "../vendor/preact.js";
import { post, put } from "../core/api.js";
import { plural } from "../core/format.js";
import { badRows } from "../core/recipients.js";
import { go } from "../core/router.js";
import { freeId } from "../core/slug.js";
import { Button, TextField } from "../parts/controls.js";
import { BadRows, RecipientsField } from "../parts/csv.js";
import { Dialog } from "../parts/dialog.js";
import { Notice, toast } from "../parts/feedback.js";
import { IdField } from "../parts/id-field.js";
import { PATH } from "./audience-lists.js";

const MOST_ERRORS = 10000;

/**
 * Without `list` a new one is made, with another id than `ids`; `fields` changes its name,
 * otherwise its recipients are replaced.
 */
export function ListForm({ list, fields, ids = [], onClose, onSaved }) {
  const [id, setId] = useState("");
  const [name, setName] = useState(list?.name ?? "");
  const [description, setDescription] = useState(list?.description ?? "");
  const [read, setRead] = useState(null);
  const [report, setReport] = useState(null);
  const proposal = freeId(name, ids);
  const save = saveAction({
    list,
    fields,
    name,
    description,
    id,
    proposal,
    read,
    onSaved,
    setReport,
  });
  if (report) {
    return html`<${StoredReport} onClose=${onClose} report=${report} />`;
  }
  const title = !list
    ? "New recipient list"
    : fields
      ? `Change ${list.name}`
      : `Replace the recipients of ${list.name}`;
  const count = read?.recipients.length ?? 0;
  return html`
    <${Dialog}
      key="form"
      wide
      title=${title}
      submit=${!list ? "Create list" : fields ? "Save" : "Replace recipients"}
      disabled=${!fields && !count}
      onClose=${onClose}
      onSubmit=${save}
    >
      ${
        (!list || fields) &&
        html`
          <${NameFields}
            name=${name}
            setName=${setName}
            list=${list}
            id=${id}
            setId=${setId}
            proposal=${proposal}
            description=${description}
            setDescription=${setDescription}
          />
        `
      }
      ${!fields && html`<${RecipientsField} onChange=${setRead} />`}
    <//>
  `;
}

function NameFields({ name, setName, list, id, setId, proposal, description, setDescription }) {
  return html`
    <div class="form-grid">
      <${TextField} label="Name" optional maxlength="64" value=${name} onInput=${setName} />
      ${
        !list &&
        html`
          <${IdField}
            hint="Transmissions name it."
            value=${id}
            onInput=${setId}
            proposal=${proposal}
          />
        `
      }
      <${TextField} label="Description" optional value=${description} onInput=${setDescription} />
    </div>
  `;
}

/** What saves the form. It stays open for rows that were not stored. */
function saveAction({ list, fields, name, description, id, proposal, read, onSaved, setReport }) {
  return async () => {
    const body = list && !fields ? {} : { name: name.trim(), description: description.trim() };
    if (!list && (id.trim() || proposal)) body.id = id.trim() || proposal;
    if (!fields) body.recipients = read.recipients;
    const query = { num_rcpt_errors: MOST_ERRORS };
    const { results } = list
      ? await put(`${PATH}/${encodeURIComponent(list.id)}`, body, { query })
      : await post(PATH, body, { query });
    onSaved();
    if (!list) go(["audience", "lists", results.id]);
    const rows = fields ? [] : [...read.bad, ...badRows(results.rcpt_to_errors ?? [], read)];
    if (!rows.length) {
      toast("Saved");
      return true;
    }
    setReport({ accepted: results.total_accepted_recipients, rows });
    return false;
  };
}

function StoredReport({ onClose, report }) {
  return html`
    <${Dialog}
      key="report"
      wide
      title="Recipients stored"
      onClose=${onClose}
      foot=${html`
        <div class="dialog-foot"><${Button} kind="primary" onClick=${onClose}>Done<//></div>
      `}
    >
      <${Notice} tone="good" icon="circle-check">
        ${plural(report.accepted, "recipient")} stored
      <//>
      <${BadRows} rows=${report.rows} />
    <//>
  `;
}
