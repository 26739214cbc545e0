// One message: its body as a reader sees it, and everything else about it in tabs.
import { html, useEffect } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { attempt, Empty, Loaded, Notice, SkeletonRows } from "../parts/feedback.js";
import { IconButton } from "../parts/controls.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { Attachments } from "./mailbox-attachments.js";
import { MailBody } from "./mailbox-body.js";
import { Checks } from "./mailbox-checks.js";
import { Facts } from "./mailbox-facts.js";
import { Links } from "./mailbox-links.js";
import { Release } from "./mailbox-release.js";
import { Source } from "./mailbox-source.js";
import { Timeline } from "./mailbox-timeline.js";

export function MessageView({ id, onClose, onDrop, mark, neighbour }) {
  const resource = useResource(
    (signal) =>
      get(`local/mailbox/${id}/content`, undefined, { signal }).then((answer) => answer.results),
    [id],
  );
  const message = resource.data;
  useEffect(() => {
    if (message?.unread) attempt(() => mark(id, false));
  }, [message?.id]);
  return html`
    <${Head}
      onClose=${onClose}
      message=${message}
      onDrop=${onDrop}
      neighbour=${neighbour}
      mark=${mark}
      id=${id}
    />
    <div class="pane-body message">
      ${
        resource.error?.status === 404
          ? html`
            <${Empty} icon="mail-x" title="This message is gone">
              It was deleted from the mailbox, or was never in it.
            <//>
          `
          : html`
            <${Loaded} resource=${resource} shape=${html`<${SkeletonRows} rows=${6} />`}>
              ${(data) => html`<${Message} message=${data} />`}
            <//>
          `
      }
    </div>
  `;
}

function Head({ onClose, message, onDrop, neighbour, mark, id }) {
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the list"
        kind="ghost small pane-back"
        onClick=${onClose}
      />
      <h2 class="grow clip">${message ? message.subject || "(no subject)" : "Message"}</h2>
      <span class="row nowrap">
        <${IconButton}
          icon="chevron-left"
          label="Newer message (p)"
          kind="ghost small"
          onClick=${() => neighbour(-1)}
        />
        <${IconButton}
          icon="chevron-right"
          label="Older message (n)"
          kind="ghost small"
          onClick=${() => neighbour(1)}
        />
        <${Release} key=${id} message=${message} />
        <${IconButton}
          icon="mail"
          label="Mark as unread (u)"
          kind="ghost small"
          onClick=${() => {
            attempt(() => mark(id, true));
            onClose();
          }}
        />
        <${IconButton} icon="trash-2" label="Delete (#)" kind="ghost small" onClick=${onDrop} />
      </span>
    </header>
  `;
}

function Message({ message }) {
  const attached = message.parts.filter(
    (each) => each.role === "attachment" || each.role === "inline",
  );
  const tabs = tabsOf(message, attached);
  const current = tabs.find(([each]) => each === route.value.query.tab)?.[0] ?? tabs[0][0];
  const choose = (tab) => setQuery({ tab: tab === tabs[0][0] ? "" : tab });
  return html`
    <${Facts} message=${message} />
    ${
      message.problem &&
      html`
        <div class="pane-note">
          <${Notice} tone="warn" icon="alert-triangle">${message.problem}<//>
        </div>
      `
    }
    <div class="message-tabs">
      <${Tabs}
        id="message"
        label="Parts of the message"
        tabs=${tabs}
        current=${current}
        onChange=${choose}
      />
    </div>
    <${TabPanel}
      id="message"
      current=${current}
      class="message-panel ${current === "html" || current === "amp" ? "framed" : ""}"
    >
      ${current === "html" && html`<${MailBody} message=${message} part="html" />`}
      ${current === "amp" && html`<${MailBody} message=${message} part="amp" />`}
      ${
        current === "text" &&
        html`
          <pre class="mail-text" tabindex="0" aria-label="Text of the message">${message.text}</pre>
        `
      }
      ${current === "timeline" && html`<${Timeline} message=${message} />`}
      ${current === "links" && html`<${Links} message=${message} />`}
      ${current === "checks" && html`<${Checks} message=${message} />`}
      ${current === "headers" && html`<${Headers} headers=${message.headers} />`}
      ${current === "files" && html`<${Attachments} message=${message} parts=${attached} />`}
      ${current === "source" && html`<${Source} id=${message.id} />`}
    <//>
  `;
}

function tabsOf(message, attached) {
  return [
    message.html !== null && ["html", "HTML"],
    message.text !== null && ["text", "Text"],
    message.amp !== null && ["amp", "AMP"],
    message.message_id && ["timeline", "Timeline"],
    ["links", "Links"],
    ["checks", "Checks"],
    ["headers", "Headers", message.headers.length],
    attached.length > 0 && ["files", "Attachments", attached.length],
    ["source", "Source"],
  ].filter(Boolean);
}

function Headers({ headers }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Header fields">
      <table class="table headers">
        <tbody>
          ${headers.map(
            (each, index) => html`
              <tr key=${index}>
                <th scope="row">${each.name}</th>
                <td class="mono wrap">${each.value}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}
