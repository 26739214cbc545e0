// Act as the recipient of a message. Each action is the real request, by HTTP or SMTP, and its
// events follow in the timeline.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { setQuery } from "../core/router.js";
import { Button } from "../parts/controls.js";
import { attempt, toast } from "../parts/feedback.js";

const ACTIONS = [
  ["open", "Open", "mail-open", { action: "open" }, "Load the images of the message"],
  ["click", "Click", "mouse-pointer-click", { action: "click" }, "Follow the first tracked link"],
  [
    "one-click",
    "Unsubscribe with one click",
    "user-minus",
    { action: "unsubscribe" },
    "Post to List-Unsubscribe, as the button of a mail client does",
  ],
  [
    "page",
    "Unsubscribe by page",
    "user-x",
    { action: "unsubscribe", way: "page" },
    "Open the page of List-Unsubscribe and press its button",
  ],
  ["complain", "Complain", "flag", { action: "complain" }, "Report the message as spam"],
  [
    "bounce",
    "Bounce late",
    "mail-x",
    { action: "bounce" },
    "Report by mail that the message was not delivered after all",
  ],
  [
    "reply",
    "Reply automatically",
    "reply",
    { action: "reply" },
    "Answer as somebody on vacation does",
  ],
];
const DONE = {
  open: "Images loaded",
  click: "Link followed",
  unsubscribe: "Unsubscribed",
  complain: "Complaint mailed",
  bounce: "Bounce mailed",
  reply: "Reply mailed",
};

/**
 * Returns `{busy, act}`: `act(id, body)` does one action and leads to the timeline; `busy` is its
 * id.
 */
export function useRecipient(message) {
  const [busy, setBusy] = useState("");
  const act = async (id, body) => {
    setBusy(id);
    await attempt(async () => {
      const { steps } = (await post(`local/mailbox/${message.id}/actions`, body)).results;
      const failure = steps.find((each) => each.status >= 400);
      if (failure)
        throw new Error(
          `${failure.method} ${failure.url.slice(0, 120)} was answered with status ` +
            `${failure.status}`,
        );
      toast(DONE[body.action]);
      if (message.message_id) setQuery({ tab: "timeline" });
    });
    setBusy("");
  };
  return { busy, act };
}

export function Recipient({ message }) {
  const { busy, act } = useRecipient(message);
  return html`
    <section class="stack small" aria-label="Act as the recipient">
      <h3>Act as the recipient</h3>
      <div class="row wraps">
        ${ACTIONS.map(
          ([id, label, icon, body, title]) => html`
            <${Button}
              key=${id}
              kind="small"
              icon=${icon}
              title=${title}
              busy=${busy === id}
              onClick=${() => act(id, body)}
            >
              ${label}
            <//>
          `,
        )}
      </div>
    </section>
  `;
}
