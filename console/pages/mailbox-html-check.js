// Which mail clients show what a message's HTML and CSS ask for.
import { html } from "../vendor/preact.js";
import { plural } from "../core/format.js";
import { htmlCheckOf } from "../core/html-check.js";
import { useResource } from "../core/resource.js";
import { CurlButton } from "../parts/code.js";
import { Icon } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const percent = (value) => `${Math.round(value * 10) / 10} %`;

export function HtmlCheck({ message }) {
  const resource = useResource((signal) => htmlCheckOf(message.id, signal), [message.id]);
  return html`
    <${Card}
      level=${3}
      title="Support by mail clients"
      flush
      actions=${html`<${CurlButton} path="local/mailbox/${message.id}/html-check" />`}
    >
      <${Loaded} resource=${resource}>
        ${(check) => html`
          ${
            check.rows.length
              ? html`<${Shares} check=${check} /><${Table} rows=${check.rows} />`
              : html`
                <${Empty} level=${4} icon="check" title="Every client shows it">
                  The message uses no HTML and no CSS that a tested mail client does not support.
                <//>
              `
          }
          <p class="grid-foot">
            ${plural(check.nodes, "element")}, ${plural(check.tests, "test")}. What clients support
            is known from${" "}
            <a href="https://www.caniemail.com/" target="_blank" rel="noopener noreferrer">
              caniemail.com
            </a>
            .
          </p>
        `}
      <//>
    <//>
  `;
}

/** How much of what the message uses is shown, over all tested clients. */
function Shares({ check }) {
  return html`
    <div class="shares">
      <${SharesBar} shares=${check} />
      <ul class="row wraps">
        <li><i class="dot share-good"></i><b>${percent(check.supported)}</b> supported</li>
        <li><i class="dot share-warn"></i><b>${percent(check.partial)}</b> in part</li>
        <li><i class="dot share-bad"></i><b>${percent(check.unsupported)}</b> not supported</li>
      </ul>
    </div>
  `;
}

function SharesBar({ shares }) {
  return html`
    <div class="shares-bar" aria-hidden="true">
      <i class="share-good" style=${{ flexGrow: shares.supported }}></i>
      <i class="share-warn" style=${{ flexGrow: shares.partial }}></i>
      <i class="share-bad" style=${{ flexGrow: shares.unsupported }}></i>
    </div>
  `;
}

function Table({ rows }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Support by mail clients">
      <table class="table support">
        <thead>
          <tr>
            <th scope="col">The message uses</th>
            <th scope="col">Not shown by</th>
            <th scope="col">In part by</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((each) => html`<${Row} key=${each.slug} row=${each} />`)}
        </tbody>
      </table>
    </div>
  `;
}

function Row({ row }) {
  const { title, url, example, found, notes } = row;
  return html`
    <tr>
      <th scope="row">
        <a href=${url} target="_blank" rel="noopener noreferrer">
          ${title} <${Icon} name="external-link" label="at caniemail.com" />
        </a>
        ${example && html`<span class="soft mono wrap">${example}</span>`}
        <${SharesBar} shares=${row} />
        <span class="soft">
          ${percent(row.supported)} of clients${found > 1 && `, ${plural(found, "use")}`}
        </span>
        <${Notes} notes=${notes} title=${title} />
      </th>
      <${Clients} clients=${row.none} />
      <${Clients} clients=${row.partly} />
    </tr>
  `;
}

function Notes({ notes, title }) {
  if (!notes.length) return null;
  return html`
    <details class="notes">
      <summary>
        ${plural(notes.length, "note")}<span class="visually-hidden"> on ${title}</span>
      </summary>
      <ol>
        ${notes.map(([note, text]) => html`<li key=${note} value=${note}>${text}</li>`)}
      </ol>
    </details>
  `;
}

function Clients({ clients }) {
  if (!clients.length) return html`<td><span class="faint">none</span></td>`;
  return html`
    <td>
      ${clients.map(
        ({ name, notes }, index) => html`
          ${index > 0 && ", "}${name}${
            notes.length > 0 &&
            html`<sup><span class="visually-hidden"> notes </span>${notes.join(" ")}</sup>`
          }
        `,
      )}
    </td>
  `;
}
