// One received message: its body as a reader sees it, what was judged of it, and what became of it.
import { html } from "../vendor/preact.js";
import { get, remove } from "../core/api.js";
import { bytes, exactTime } from "../core/format.js";
import { withImages } from "../core/inline-images.js";
import { imagesOf, OUTCOMES, RECEIVED } from "../core/received.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { Badge, Copyable, IconButton } from "../parts/controls.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded, Notice, SkeletonRows } from "../parts/feedback.js";
import { PageLink } from "../parts/links.js";
import { MailStage, PreviewFrame } from "../parts/mail-stage.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { Files, Headers, Source } from "./received-parts.js";
import { Verdicts } from "./received-verdicts.js";

export function ReceivedMessage({ id, onClose, onDeleted }) {
  const path = `${RECEIVED}/${encodeURIComponent(id)}`;
  const resource = useResource((signal) => get(path, undefined, { signal }), [id]);
  const message = resource.data?.results;
  const destroy = async () => {
    const text = "Its attachments are deleted as well. It cannot be posted again.";
    if (await confirm({ title: "Delete this message?", text }))
      if (await attempt(() => remove(path), "Deleted")) onDeleted();
  };
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the list"
        kind="ghost small pane-back"
        onClick=${onClose}
      />
      <h2 class="grow clip">${message ? message.content.subject || "(no subject)" : "Message"}</h2>
      <span class="row nowrap">
        ${
          message &&
          html`
            <${IconButton}
              icon="trash-2"
              label="Delete"
              kind="ghost small"
              onClick=${destroy}
            />
          `
        }
        <${IconButton} icon="x" label="Close (Escape)" kind="ghost small" onClick=${onClose} />
      </span>
    </header>
    <div class="pane-body message">
      ${
        resource.error?.status === 404
          ? html`
            <${Empty} icon="mail-x" title="This message is gone">
              It was deleted, or came in more than ten days ago.
            <//>
          `
          : html`
            <${Loaded} resource=${resource} shape=${html`<${SkeletonRows} rows=${6} />`}>
              ${({ results }) => html`<${Message} message=${results} path=${path} />`}
            <//>
          `
      }
    </div>
  `;
}

function Message({ message, path }) {
  const tabs = tabsOf(message);
  const { tab } = route.value.query;
  const current = tabs.some(([each]) => each === tab) ? tab : tabs[0][0];
  const { content } = message;
  return html`
    <${Facts} message=${message} />
    ${
      message.is_cut &&
      html`
        <${Notice} tone="warn" icon="alert-triangle">
          The message is long: only the beginning of its text is shown. Its source has all of it.
        <//>
      `
    }
    <${Tabs}
      label="Parts of the message"
      current=${current}
      onChange=${(each) => setQuery({ tab: each === tabs[0][0] ? "" : each })}
      tabs=${tabs}
    />
    <${TabPanel} current=${current} class="message-panel ${current === "html" ? "framed" : ""}">
      ${current === "html" && html`<${Body} message=${message} />`}
      ${current === "text" && html`<${Text} text=${content.text} label="Text of the message" />`}
      ${
        current === "reply" &&
        html`
          <${Text} text=${message.reply_text} label="The reply without what it quotes" />
        `
      }
      ${current === "verdicts" && html`<${Verdicts} message=${message} />`}
      ${current === "headers" && html`<${Headers} headers=${content.headers} />`}
      ${current === "files" && html`<${Files} files=${message.attachments} />`}
      ${current === "source" && html`<${Source} path=${path} message=${message} />`}
    <//>
  `;
}

const Text = ({ text, label }) =>
  html`<pre class="mail-text" tabindex="0" aria-label=${label}>${text}</pre>`;

const tabsOf = ({ content, reply_text: reply, attachments }) =>
  [
    content.html !== null && ["html", "HTML"],
    content.text !== null && ["text", "Text"],
    reply && reply !== content.text?.trim() && ["reply", "Reply"],
    ["verdicts", "Verdicts"],
    ["headers", "Headers", content.headers.length],
    attachments.length > 0 && ["files", "Attachments", attachments.length],
    ["source", "Source"],
  ].filter(Boolean);

/** The HTML is of a stranger: it is in a frame of another origin, whose policy runs nothing. */
function Body({ message }) {
  const images = useResource((signal) => imagesOf(message, signal), [message.id]);
  if (!images.data && !images.error) return html`<${SkeletonRows} rows=${4} />`;
  const source = withImages(message.content.html, images.data);
  return html`
    <${MailStage}
      id=${message.id}
      source=${message.content.html}
      frame=${({ remote, class: names }) => html`
        <${PreviewFrame}
          key=${`${message.id}${remote}`}
          source=${source}
          remote=${remote}
          class=${names}
          title="HTML of the message"
        />
      `}
    />
  `;
}

function Facts({ message }) {
  const [text, tone, icon] = OUTCOMES[message.action] ?? [message.action, "", "circle"];
  const { content } = message;
  return html`
    <div class="message-head">
      <dl class="facts small">
        <dt>From</dt>
        <dd>
          ${message.friendly_from || "–"}
          ${
            message.msg_from !== message.friendly_from &&
            html` <span class="soft">(envelope: ${message.msg_from || "empty"})</span>`
          }
        </dd>
        <dt>To</dt>
        <dd>
          <${Copyable} text=${message.rcpt_to} class="" />
          ${message.tag && html` <${Badge} icon="tag">${message.tag}<//>`}
        </dd>
        ${content.cc.length > 0 && html`<dt>Copy to</dt><dd>${content.cc.join(", ")}</dd>`}
        <dt>Received</dt>
        <dd>
          ${exactTime(message.received_at)}, ${bytes(message.size)}, from ${message.peer_ip}
        </dd>
        <dt>Became</dt>
        <dd class="row wraps">
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
          ${message.forward_to}
          ${message.relay && html`<${Relay} relay=${message.relay} />`}
          ${message.automatic && html`<${Badge} tone="warn" icon="radio">Automatic<//>`}
        </dd>
        ${message.in_reply_to && html`<${Answers} original=${message.in_reply_to} />`}
      </dl>
    </div>
  `;
}

const Relay = ({ relay }) => html`
  <${PageLink} path=${["webhooks", "relay", relay.webhook_id, relay.batch_id]}>
    How its posts went
  <//>
`;

/** The message of this service that it answers. */
function Answers({ original }) {
  return html`
    <dt>Answers</dt>
    <dd class="row wraps">
      <${PageLink} path=${["activity"]} query=${{ messages: original.message_id }}>
        the message to ${original.rcpt_to}
      <//>
      <span class="soft">
        of transmission${" "}
        <${PageLink} path=${["send", original.transmission_id]}>${original.transmission_id}<//>
      </span>
    </dd>
  `;
}
