// What pages share that read CSV: choosing a file, progress, the report of bad rows, recipients.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { save, toCsv } from "../core/files.js";
import { number, plural } from "../core/format.js";
import { readRecipients } from "../core/recipients.js";
import { useSettled } from "../core/resource.js";
import { Button, Icon, TextField } from "./controls.js";
import { Notice } from "./feedback.js";

const SHOWN_ROWS = 100;
const LONGEST_SHOWN = 100000;

/** A button that opens a text file; `onText(text, name)` gets what it holds. */
export function FileButton({ label, onText }) {
  const read = async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) onText(await file.text(), file.name);
  };
  return html`
    <label class="button file-button">
      <${Icon} name="upload" />
      ${label}
      <input
        type="file"
        class="visually-hidden"
        accept=".csv,.txt,text/csv,text/plain"
        onChange=${read}
      />
    </label>
  `;
}

export function Progress({ label, done, total }) {
  return html`
    <div role="status">
      <div
        class="progress"
        role="progressbar"
        aria-label=${label}
        aria-valuenow=${done}
        aria-valuemin="0"
        aria-valuemax=${total}
      >
        <i style=${{ width: `${Math.min(100, (100 * done) / Math.max(1, total))}%` }}></i>
      </div>
      <p class="hint soft">${label}: ${number(done)} of ${number(total)}</p>
    </div>
  `;
}

/** Rows of a file that were left out: `[{line, text, reason}]`, and a button that saves them. */
export function BadRows({ rows }) {
  if (!rows.length) return null;
  return html`
    <section class="stack small" aria-label="Bad rows">
      <${Notice} tone="warn" icon="alert-triangle">
        <div class="row apart wraps">
          <span class="strong">${plural(rows.length, "bad row")} left out</span>
          <${Button}
            kind="small"
            icon="download"
            onClick=${() =>
              save("bad-rows.csv", toCsv(["line", "text", "reason"], rows), "text/csv")}
          >
            Save as CSV
          <//>
        </div>
      <//>
      <div class="scroll-x bad-rows" tabindex="0" role="region" aria-label="Rows left out">
        <table class="table">
          <thead><tr><th>Line</th><th>Reason</th><th>Row</th></tr></thead>
          <tbody>
            ${rows.slice(0, SHOWN_ROWS).map(
              (each, index) => html`
                <tr key=${index}>
                  <td class="num">${each.line ?? "–"}</td>
                  <td class="wrap">${each.reason}</td>
                  <td class="wrap mono">${each.text}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      ${
        rows.length > SHOWN_ROWS &&
        html`<p class="soft">The file has the other ${number(rows.length - SHOWN_ROWS)}.</p>`
      }
    </section>
  `;
}

/**
 * Recipients, typed or from a file. `onChange` gets what `readRecipients` returns, or null while it
 * reads. `source` is `{text, file}` to begin with, which `onSource` gets when it changes.
 */
export function RecipientsField({ label = "Recipients", onChange, source, onSource }) {
  const [text, setText] = useState(source?.text ?? "");
  const [file, setFile] = useState(source?.file ?? "");
  const { result, progress } = useReading({ text, onChange, source, onSource, file });
  const large = text.length > LONGEST_SHOWN;
  return html`
    <div class="stack small">
      ${
        large
          ? html`<p><span class="label">${label}</span> <span class="soft">from ${file}</span></p>`
          : html`
            <${TextField}
              label=${label}
              multiline
              class="mono"
              rows="5"
              value=${text}
              onInput=${setText}
              spellcheck="false"
              placeholder=${"email,name,city\nanna@example.com,Anna,Oslo"}
              hint=${
                "One recipient a line, or CSV with a heading: email, name, tags, metadata. The " +
                "name and every other column fill the template: {{name}}, {{city}}."
              }
            />
          `
      }
      <div class="row wraps">
        <${FileButton}
          label="Choose a CSV file"
          onText=${(content, name) => {
            setFile(name);
            setText(content);
          }}
        />
        ${
          text &&
          html`
            <${Button} kind="ghost" icon="x" onClick=${() => setText("")}>Empty<//>
            <span class="soft" role="status">${plural(result.recipients.length, "recipient")}</span>
          `
        }
      </div>
      ${
        progress &&
        progress[1] > 2000 &&
        html`<${Progress} label="Reading rows" done=${progress[0]} total=${progress[1]} />`
      }
      <${BadRows} rows=${result.bad} />
    </div>
  `;
}

/** @type {{recipients: Api.Recipient[], bad: Api.BadRow[]}} */
const NOTHING_READ = { recipients: [], bad: [] };

/** Read the recipients of a text whenever it changes, and say how far it is. */
function useReading({ text, onChange, source, onSource, file }) {
  const [result, setResult] = useState(NOTHING_READ);
  const [progress, setProgress] = useState(null);
  const settled = useSettled(text, 200);
  const run = useRef(0);
  useEffect(() => {
    onChange(null);
    if (text !== source?.text) onSource?.({ text, file });
  }, [text]);
  useEffect(() => {
    const own = (run.current += 1);
    readRecipients(settled, (done, total) => {
      if (own === run.current) setProgress([done, total]);
    }).then((read) => {
      if (own !== run.current) return;
      setProgress(null);
      setResult(read);
      onChange(read);
    });
    return () => {
      run.current += 1;
    };
  }, [settled]);
  return { result, progress };
}
