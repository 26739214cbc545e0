// Import entries into the suppression list from CSV, in batches that show how far they are.
import { html, useRef, useState } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { plural } from "../core/format.js";
import { inWords } from "../core/messages.js";
import { PATH, readEntries, TYPES } from "../core/suppressions.js";
import { Button, SelectField, TextField } from "../parts/controls.js";
import { BadRows, FileButton, Progress } from "../parts/csv.js";
import { Dialog } from "../parts/dialog.js";
import { Notice } from "../parts/feedback.js";

const BATCH = 1000;

export function ImportDialog({ onClose, onSaved }) {
  const [text, setText] = useState("");
  const [type, setType] = useState("non_transactional");
  const [list, setList] = useState("");
  const [done, setDone] = useState(-1);
  const [report, setReport] = useState(null);
  const abort = useRef(new AbortController());
  const read = readEntries(text, { type, list: list.trim() });
  const run = importAction({ read, setDone, setReport, abort, onSaved });
  const close = () => {
    abort.current.abort();
    onClose();
  };
  if (report) {
    return html`<${ImportReport} onClose=${onClose} report=${report} />`;
  }
  return html`
    <${Dialog}
      key="form"
      wide
      title="Import into the suppression list"
      submit="Import"
      disabled=${!read.entries.length}
      onClose=${close}
      onSubmit=${run}
    >
      <${TextField}
        label="Recipients"
        multiline
        class="mono"
        rows="6"
        value=${text}
        onInput=${setText}
        spellcheck="false"
        placeholder=${
          "recipient,type,description,list_id\nanna@example.com,non_transactional,Unsubscribed " +
          "elsewhere,"
        }
        hint="One address a line, or CSV with a heading: recipient, type, description, list_id."
      />
      <div class="row wraps">
        <${FileButton} label="Choose a CSV file" onText=${setText} />
        ${
          text &&
          html`
            <span class="soft" role="status">
              ${plural(read.entries.length, "entry", "entries")}
            </span>
          `
        }
      </div>
      <${Defaults} type=${type} setType=${setType} list=${list} setList=${setList} />
      <${BadRows} rows=${read.bad} />
      ${done >= 0 && html`<${Progress} label="Stored" done=${done} total=${read.entries.length} />`}
    <//>
  `;
}

/** What holds for rows that do not say it. */
function Defaults({ type, setType, list, setList }) {
  return html`
    <div class="form-grid">
      <${SelectField}
        label="Type of rows without one"
        value=${type}
        options=${Object.entries(TYPES)}
        onChange=${setType}
      />
      <${TextField}
        label="Mailing list of rows without one"
        optional
        value=${list}
        onInput=${setList}
        spellcheck="false"
      />
    </div>
  `;
}

function importAction({ read, setDone, setReport, abort, onSaved }) {
  return async () => {
    const rows = read.entries.map((entry, index) => ({ entry, line: read.lines[index] }));
    const result = { stored: 0, bad: [...read.bad], notes: [] };
    setDone(0);
    try {
      for (let start = 0; start < rows.length; start += BATCH) {
        await store(rows.slice(start, start + BATCH), result, abort.current.signal);
        setDone(Math.min(rows.length, start + BATCH));
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      setDone(-1);
      throw error;
    } finally {
      onSaved();
    }
    setReport(result);
    return false;
  };
}

function ImportReport({ onClose, report }) {
  return html`
    <${Dialog}
      key="report"
      wide
      title="Import"
      onClose=${onClose}
      foot=${html`
        <div class="dialog-foot"><${Button} kind="primary" onClick=${onClose}>Done<//></div>
      `}
    >
      <${Notice} tone="good" icon="circle-check">
        ${plural(report.stored, "entry", "entries")} stored
      <//>
      ${report.notes.map(
        (each) => html`<${Notice} key=${each} tone="warn" icon="alert-triangle">${each}<//>`,
      )}
      <${BadRows} rows=${report.bad} />
    <//>
  `;
}

/** Store rows with as few requests as the bad ones among them allow: a batch with one is halved. */
async function store(rows, result, signal) {
  try {
    const { errors } = await put(PATH, { recipients: rows.map(({ entry }) => entry) }, { signal });
    result.stored += rows.length;
    for (const each of errors ?? []) result.notes.push(inWords(each));
  } catch (error) {
    if (![400, 403].includes(error.status)) throw error;
    if (rows.length === 1) {
      const [{ entry, line }] = rows;
      result.bad.push({ line, text: entry.recipient, reason: error.message });
      return;
    }
    const half = Math.ceil(rows.length / 2);
    await store(rows.slice(0, half), result, signal);
    await store(rows.slice(half), result, signal);
  }
}
