// What was judged of a received message: its authentication, and what scanners said.
import { html } from "../vendor/preact.js";
import { verdictsOf } from "../core/received.js";
import { Badge } from "../parts/controls.js";
import { Empty } from "../parts/feedback.js";

export function Verdicts({ message }) {
  const verdicts = verdictsOf(message.verdicts ?? {});
  if (!verdicts.length)
    return html`<${Empty} level=${3} icon="shield-check" title="Nothing was judged" />`;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Verdicts">
      <table class="table">
        <thead>
          <tr>
            <th>Check</th>
            <th>Result</th>
            <th>Why</th>
          </tr>
        </thead>
        <tbody>
          ${verdicts.map(
            ({ name, text, tone, icon, about }, index) => html`
              <tr key=${index}>
                <th scope="row">${name}</th>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                <td class="wrap">${about.map((each) => html`<div key=${each}>${each}</div>`)}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    <p class="soft pane-note">
      The message came from ${message.peer_ip}, which said that it is <code>${message.helo}</code>,
      ${message.tls ? ` over ${message.tls}` : " without TLS"}.
    </p>
  `;
}
