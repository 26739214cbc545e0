// Act as the recipient of a message. Each action is the real request, by HTTP or SMTP, and its
// events follow in the timeline.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { recipientsOf } from "../core/envelope.js";
import { setQuery } from "../core/router.js";
import { Button, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
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
  answer: "Reply mailed",
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
  const [writing, setWriting] = useState(false);
  return html`
    <section class="stack small" aria-label="Act as the recipient">
      <h3>Act as the recipient</h3>
      ${writing && html`<${Answer} message=${message} onClose=${() => setWriting(false)} />`}
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
        <${Button}
          kind="small"
          icon="pencil"
          title="Answer as a person does, to Reply-To or From"
          onClick=${() => setWriting(true)}
        >
          Write a reply
        <//>
      </div>
    </section>
  `;
}

/** A reply goes the whole way: by SMTP to the service, which takes it for an inbound domain. */
function Answer({ message, onClose }) {
  const [text, setText] = useState("");
  const send = async () => {
    await post(`local/mailbox/${message.id}/actions`, { action: "answer", text });
    toast(DONE.answer);
  };
  return html`
    <${Dialog}
      title="Reply as ${recipientsOf(message)[0]}"
      submit="Send"
      disabled=${!text.trim()}
      onClose=${onClose}
      onSubmit=${send}
    >
      <${TextField}
        label="Your reply"
        multiline
        rows="6"
        value=${text}
        onInput=${setText}
        hint=${
          "It goes to the Reply-To of the message, or to its From. The service takes it if that " +
          "is at an inbound domain."
        }
      />
    <//>
  `;
}
