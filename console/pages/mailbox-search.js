// What the search of the mailbox understands, each as something to pick.
import { html, useState } from "../vendor/preact.js";
import { IconButton } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";

const OPERATORS = [
  ["to:anna", "the recipient contains it"],
  ["to:*@example.com", "a pattern of the whole recipient"],
  ["cc:carl", "the field Cc contains it, as bcc: does for recipients in no field"],
  ["from:billing", "the sender contains it"],
  ['subject:"your order"', "exactly this subject"],
  ["inbox:shop", "in that inbox"],
  ["has:attachment", "with a file"],
  ["is:unread", "not opened yet"],
  ["tag:trial", "has the tag"],
  ["larger:1mb", "bigger than that"],
  ["after:2026-11-22T10:00Z", "arrived at that time or later"],
  ["before:2026-11-22", "arrived earlier"],
  ["-from:billing", "a dash excludes"],
];

export function SearchHelp({ onPick }) {
  const [open, setOpen] = useState(false);
  return html`
    <${IconButton} icon="circle-help" label="How to search" onClick=${() => setOpen(true)} />
    ${
      open &&
      html`
        <${Dialog} title="Search mail" onClose=${() => setOpen(false)}>
          <p class="soft">
            Words are looked for in addresses, subjects and texts. These narrow the search:
          </p>
          <ul class="operators">
            ${OPERATORS.map(
              ([text, meaning]) => html`
                <li key=${text}>
                  <button
                    type="button"
                    class="copyable mono"
                    onClick=${() => {
                      onPick(text);
                      setOpen(false);
                    }}
                  >
                    ${text}
                  </button>
                  <span class="soft">${meaning}</span>
                </li>
              `,
            )}
          </ul>
        <//>
      `
    }
  `;
}
