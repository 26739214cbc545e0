// Save all results of a paged search as a file. Long exports show how far they are and can be
// stopped.
import { html, useRef, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { plural } from "../core/format.js";
import { save, toCsv } from "../core/files.js";
import { IconButton } from "./controls.js";
import { Progress } from "./csv.js";
import { Dialog } from "./dialog.js";
import { toast } from "./feedback.js";
import { Segments } from "./tabs.js";

/**
 * `path` and `query()`: the search; `next(answer)`: the path of the next page, if there is one;
 * `fields`: the columns of the CSV; `noun` and `many`: what one result and several are called.
 */
export function ExportButton({ total, ...search }) {
  const [open, setOpen] = useState(false);
  return html`
    <${IconButton}
      icon="download"
      kind="ghost small"
      label="Export"
      disabled=${!total}
      onClick=${() => setOpen(true)}
    />
    ${open && html`<${ExportDialog} ...${search} total=${total} onClose=${() => setOpen(false)} />`}
  `;
}

const FORMS = [
  ["csv", "CSV"],
  ["ndjson", "NDJSON"],
];

function ExportDialog({
  path,
  query,
  next,
  fields,
  noun,
  many = `${noun}s`,
  name,
  total,
  onClose,
}) {
  const [form, setForm] = useState("csv");
  const [done, setDone] = useState(-1);
  const abort = useRef(null);
  const run = async () => {
    abort.current = new AbortController();
    setDone(0);
    let rows;
    try {
      rows = await loadAll({
        path,
        query,
        next,
        signal: abort.current.signal,
        onProgress: setDone,
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      setDone(-1);
      throw error;
    }
    saveAs(form, name, fields, rows);
    toast(`${plural(rows.length, noun, many)} saved`);
  };
  return html`
    <${Dialog}
      title="Export ${many}"
      submit="Export"
      onSubmit=${run}
      onClose=${() => {
        abort.current?.abort();
        onClose();
      }}
    >
      <p class="soft">
        The ${plural(total, noun, many)} that the present filters match. NDJSON has every field,
        one ${noun} a line; CSV has the most useful ones.
      </p>
      <${Segments} label="Form" value=${form} onChange=${setForm} options=${FORMS} />
      ${done >= 0 && html`<${Progress} label="Export" done=${done} total=${total} />`}
    <//>
  `;
}

/** The rows of all pages; `onProgress` gets how many there are so far. */
async function loadAll({ path, query, next, signal, onProgress }) {
  const rows = [];
  let page = path;
  let parameters = query();
  while (page) {
    const answer = await get(page, parameters, { signal });
    rows.push(...answer.results);
    page = next(answer);
    parameters = undefined;
    onProgress(rows.length);
  }
  return rows;
}

function saveAs(form, name, fields, rows) {
  if (form === "csv") return save(`${name}.csv`, toCsv(fields, rows), "text/csv");
  const lines = rows.map((each) => JSON.stringify(each)).join("\n") + "\n";
  return save(`${name}.ndjson`, lines, "application/x-ndjson");
}
