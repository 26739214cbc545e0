// The local parts that decide what becomes of a message in the local sink.
import { html } from "../vendor/preact.js";

const BEHAVIOURS = [
  ["bounce-hard", "refused for good: the address is suppressed"],
  ["bounce-soft", "refused: the mailbox is full"],
  ["bounce-block", "refused: the sending host is blocked"],
  ["defer", "delayed twice, then accepted"],
  ["slow", "accepted after some seconds"],
  ["oob", "accepted, then a bounce comes back by mail"],
  ["complain", "accepted, then reported as spam"],
  ["open, click, unsubscribe", "accepted, then opened, clicked or unsubscribed"],
  ["anything else", "accepted"],
];

export function Behaviours() {
  return html`
    <p class="soft">
      What becomes of a message depends on the part before the @ of the recipient. A tag may follow,
      such as <code>defer+1@inbox.test</code>.
    </p>
    <dl class="facts behaviours">
      ${BEHAVIOURS.map(
        ([part, text]) => html`<dt key=${part}><code>${part}</code></dt><dd>${text}</dd>`,
      )}
    </dl>
  `;
}
