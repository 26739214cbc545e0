// Which mail clients do not show what a message's HTML and CSS ask for.
import { html } from "../vendor/preact.js";
import { plural } from "../core/format.js";
import { pageOf, supportOf } from "../core/mail-clients.js";
import { useResource } from "../core/resource.js";
import { CurlButton } from "../parts/code.js";
import { Icon } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

export function Support({ message }) {
  const resource = useResource((signal) => supportOf(message.id, signal), [message.id]);
  return html`
    <${Card}
      level=${3}
      title="Support by mail clients"
      flush
      actions=${html`<${CurlButton} path="local/mailbox/${message.id}/features" />`}
    >
      <${Loaded} resource=${resource}>
        ${({ date, rows, others }) => html`
          ${
            rows.length
              ? html`<${Table} rows=${rows} />`
              : html`
                <${Empty} level=${4} icon="check" title="Every client shows it">
                  The message uses no HTML and no CSS that a tested mail client does not support.
                <//>
              `
          }
          <p class="grid-foot">
            ${others > 0 && `${plural(others, "other feature")} of this message work everywhere. `}
            Tested by${" "}
            <a href="https://www.caniemail.com/" target="_blank" rel="noopener noreferrer">
              caniemail.com
            </a>
            , as of ${date}.
          </p>
        `}
      <//>
    <//>
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
          ${rows.map(
            (row) => html`
              <tr key=${row.feature}>
                <th scope="row">
                  <a href=${pageOf(row.feature)} target="_blank" rel="noopener noreferrer">
                    ${row.title} <${Icon} name="external-link" label="at caniemail.com" />
                  </a>
                  <span class="soft mono wrap">${row.example}</span>
                  ${row.uses > 1 && html`<span class="soft">${plural(row.uses, "use")}</span>`}
                </th>
                <${Clients} clients=${row.none} />
                <${Clients} clients=${row.partly} />
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function Clients({ clients }) {
  return html`
    <td>${clients.count ? clients.names.join(", ") : html`<span class="faint">none</span>`}</td>
  `;
}
