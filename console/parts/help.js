// The keyboard shortcuts.
import { html } from "../vendor/preact.js";
import { version } from "../core/service.js";
import { Dialog } from "./dialog.js";

const SHORTCUTS = [
  ["Command palette", ["Ctrl", "K"]],
  ["Search on this page", ["/"]],
  ["Next row", ["j"]],
  ["Row before", ["k"]],
  ["Open the row", ["Enter"]],
  ["This help", ["?"]],
  ["Close", ["Esc"]],
];

/** `pages` are those that can be gone to. */
export default function Help({ pages, onClose }) {
  const going = pages.filter((each) => each.key).map((each) => [each.label, ["g", each.key]]);
  return html`
    <${Dialog} title="Keyboard shortcuts" wide onClose=${onClose}>
      <dl class="shortcuts">
        ${[...SHORTCUTS, ...going].map(
          ([label, keys]) => html`
            <div key=${label}>
              <dt>${label}</dt>
              <dd>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dd>
            </div>
          `,
        )}
      </dl>
      <p class="faint">Postfinch ${version.value}</p>
    <//>
  `;
}
