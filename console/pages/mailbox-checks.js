// What a mailbox provider would find in a message, and what to do about it.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Badge } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded } from "../parts/feedback.js";
import { PageLink } from "../parts/links.js";
import { Card } from "../parts/page.js";
import { HtmlCheck } from "./mailbox-html-check.js";
import { LinkCheck } from "./mailbox-link-check.js";
import { SpamCheck } from "./mailbox-spam-check.js";

const STATUS = {
  pass: ["Passed", "good", "check"],
  warn: ["Improve", "warn", "alert-triangle"],
  fail: ["Failed", "bad", "circle-x"],
  none: ["Nothing to check", "", "circle"],
};
const domains = html`<${PageLink} path=${["domains"]}>Domains<//>`;

/** check → its title, why it matters, and what to do after a warning or a failure. */
const CHECKS = {
  dkim: [
    "DKIM signature",
    "The signature shows that the mail is from its domain and was not changed.",
    {
      warn: html`
        Add the domain of the sender under ${domains} and verify it. Mail from it is signed then.
      `,
      fail: html`
        Compare the DKIM record under ${domains} with what your DNS answers: the key must be the
        same.
      `,
    },
  ],
  alignment: [
    "Alignment with From",
    "DMARC passes if the signature or the return path has the domain of From.",
    {
      fail: html`
        Verify the domain of From under ${domains}, so that its mail is signed, or send from a
        domain that is verified.
      `,
    },
  ],
  list_unsubscribe: [
    "One-click unsubscription",
    "Gmail and Yahoo demand it of everyone who sends many messages that are not transactional.",
    {
      warn: html`
        Send without <code>transactional: true</code>: the service then adds both header fields.
        Password resets and receipts need none.
      `,
      fail: html`
        The signature must cover both header fields. Verify the domain of From under ${domains}.
      `,
    },
  ],
  size: [
    "Size in Gmail",
    "Gmail shows the first 102 KB of the HTML. The rest is hidden, often with the unsubscribe " +
      "link and the open pixel.",
    {
      warn: "Remove comments, unused styles and repeated attributes before more is added.",
      fail:
        "Remove comments, unused styles and repeated attributes, refer to images instead of " +
        "embedding them, or shorten the text.",
    },
  ],
  text_part: [
    "Text part",
    "Watches, screen readers and filters read the text. Mail without it looks more like spam.",
    {
      warn: html`
        Add <code>text</code> to the content or the template. It should say the same as the HTML.
      `,
      fail: html`Add <code>text</code> or <code>html</code> to the content.`,
    },
  ],
  image_alt: [
    "Texts for images",
    "Readers who see no images get the alt text instead.",
    {
      warn: html`
        Add an <code>alt</code> text to each image; an empty one, <code>alt=""</code>, to those that
        only decorate.
      `,
    },
  ],
};

export function Checks({ message }) {
  const path = `local/mailbox/${message.id}/checks`;
  const resource = useResource(
    (signal) => get(path, undefined, { signal }).then((answer) => answer.results),
    [message.id],
  );
  return html`
    <div class="stack">
      <${Loaded} resource=${resource}>
        ${(checks) => html`
          <${Card}
            level=${3}
            title=${summary(checks)}
            flush
            actions=${html`<${CurlButton} path=${path} />`}
          >
            <ul class="items" aria-label="Checks">
              ${checks.map((each) => html`<${Check} key=${each.check} check=${each} />`)}
            </ul>
          <//>
        `}
      <//>
      ${message.html !== null && html`<${HtmlCheck} message=${message} />`}
      <${LinkCheck} message=${message} />
      <${SpamCheck} message=${message} />
    </div>
  `;
}

function summary(checks) {
  const failures = checks.filter((each) => each.status === "fail").length;
  const warnings = checks.filter((each) => each.status === "warn").length;
  if (!failures && !warnings) return "Nothing to improve";
  return [failures && `${failures} failed`, warnings && `${warnings} to improve`]
    .filter(Boolean)
    .join(", ");
}

function Check({ check }) {
  const [title, why, advice] = CHECKS[check.check] ?? [check.check, "", {}];
  const [text, tone, icon] = STATUS[check.status];
  return html`
    <li class="wraps check-item">
      <div class="grow stack small">
        <div class="row wraps">
          <h4>${title}</h4>
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
        </div>
        <p>${check.summary}</p>
        ${advice[check.status] && html`<p class="strong">${advice[check.status]}</p>`}
        <p class="soft">${why}</p>
        ${
          check.details.length > 0 &&
          html`
            <ul class="quote" aria-label="Details of ${title}">
              ${check.details.map((each, index) => html`<li key=${index}>${each}</li>`)}
            </ul>
          `
        }
      </div>
    </li>
  `;
}
