// The HTML of a message. It is hostile, so it is in a sandboxed frame whose own policy allows no
// script, no form, and images of other hosts only after a click, for this message.
import { html } from "../vendor/preact.js";
import { address } from "../core/api.js";
import { MailStage } from "../parts/mail-stage.js";

export function MailBody({ message, part }) {
  return html`
    <${MailStage}
      id=${message.id}
      source=${message[part]}
      frame=${({ remote, class: names }) => html`
        <iframe
          key=${`${message.id}${part}${remote}`}
          class=${names}
          title="HTML of the message"
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          referrerpolicy="no-referrer"
          src=${address(`local/mailbox/${message.id}/${part}`, { images: remote ? "remote" : "" })}
        ></iframe>
      `}
    />
  `;
}
