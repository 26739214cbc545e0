// The DNS records of a domain: what to publish, what the last check met, and what is wrong.
import { html } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { attempt, Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

export const STATES = {
  valid: ["Published", "good", "circle-check"],
  invalid: ["Wrong or missing", "bad", "circle-x"],
  pending: ["No answer from the DNS", "warn", "clock"],
  unverified: ["Not checked", "", "circle"],
};
const TITLES = {
  dkim: "Signature (DKIM)",
  cname: "Bounces",
  mx: "Bounces, by MX",
  dmarc: "Policy (DMARC)",
  links: "Links",
  inbound: "Mail that comes in",
};
const ABOUT = {
  dkim: "Receivers find the key here that proves that the mail is yours.",
  cname: "Makes the domain one that bounces come back to. It must have no other records.",
  mx: "Lets bounces come back to the domain without giving up its other records.",
  dmarc:
    "Large mailbox providers ask senders of bulk mail for a policy. p=none only asks for " +
    "reports; tighten it once these look right.",
  links: "Tracked links and pixels of your mail lead through this domain.",
  inbound:
    "Leads mail to this domain here. It must have no other MX record: part of the mail would go " +
    "there.",
};

/** A CNAME stands alone: at a domain that has other records, it would break those. */
const isBounceName = (name) => name.startsWith("bounces.");
const aboutOf = ({ name }, purpose) =>
  purpose !== "cname" || isBounceName(name)
    ? ABOUT[purpose]
    : `Not for a domain that has other records: a CNAME breaks its MX and SPF. Add ` +
      `bounces.${name} as a sending domain of its own, and publish its CNAME instead.`;
const needOf = ({ name, required }, purpose) =>
  required
    ? "Required"
    : purpose === "cname" && !isBounceName(name)
      ? "Better elsewhere"
      : "Recommended";

export async function publish(record) {
  return attempt(
    () =>
      put(`local/dns/${record.name}`, { records: [{ type: record.type, value: record.value }] }),
    "Published in the local DNS",
  );
}

/**
 * `onPublish` offers to publish it in the local DNS; `title` where the purpose does not say enough.
 */
export function Record({
  record,
  purpose = record.purpose,
  title = TITLES[purpose],
  problem,
  onPublish,
  bare,
}) {
  const [text, tone, icon] = STATES[record.status] ?? STATES.unverified;
  const about = aboutOf(record, purpose);
  const actions = html`
    <span class="row wraps">
      ${!bare && html`<${Badge}>${needOf(record, purpose)}<//>`}
      ${record.status && html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`}
      ${
        onPublish &&
        record.status !== "valid" &&
        html`
          <${Button} kind="small" icon="zap" onClick=${() => onPublish(record)}>
            Publish<span class="visually-hidden"> ${title}</span>
          <//>
        `
      }
    </span>
  `;
  const facts = html`
    <dl class="facts">
      <dt>Type</dt>
      <dd class="mono">${record.type}</dd>
      <dt>Name</dt>
      <dd><${Copyable} text=${record.name} /></dd>
      <dt>Value</dt>
      <dd><${Copyable} text=${record.value} /></dd>
    </dl>
  `;
  const body = html`
    <div class="stack">
      ${!bare && about && html`<p class="soft">${about}</p>`}
      ${facts}
      ${problem && html`<${Notice} tone="warn" icon="alert-triangle">${problem}<//>`}
    </div>
  `;
  return bare
    ? html`<div class="stack">${actions}${body}</div>`
    : html`<${Card} title=${title} actions=${actions}>${body}<//>`;
}

const SPF = {
  valid: "The SPF record of this domain lets the addresses send that mail leaves from.",
  invalid:
    "The SPF record of this domain is missing, or does not let all addresses send that " +
    "mail leaves from.",
  pending: "The DNS gave no answer about SPF.",
  unverified: "Verify looks at SPF as well.",
};

/** SPF is a hint: mail passes it by the domain in its return path, which is the service's own. */
export function Spf({ status, problem }) {
  const [text, tone, icon] = STATES[status] ?? STATES.unverified;
  return html`
    <${Card}
      title="Senders (SPF)"
      actions=${html`
        <span class="row wraps">
          <${Badge}>Recommended<//>
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
        </span>
      `}
    >
      <div class="stack">
        <p class="soft">
          ${SPF[status] ?? SPF.unverified} Receivers check SPF for the domain that bounces come back
          to, so mail passes without it; some also look at the From. Add the addresses to the TXT
          record of the domain, for example
        </p>
        <p><${Copyable} text="v=spf1 ip4:192.0.2.25 include:mail.example.net ~all" /></p>
        ${problem && html`<${Notice} tone="warn" icon="alert-triangle">${problem}<//>`}
      </div>
    <//>
  `;
}

const SES = {
  verified: ["Verified", "good", "circle-check"],
  pending: ["Waiting for Amazon SES", "warn", "clock"],
  failed: ["Not verified", "bad", "circle-x"],
};

/** The domain's identity in Amazon SES, which verifies it by the record of the DKIM key. */
export function Ses({ ses }) {
  const [text, tone, icon] = SES[ses.status] ?? SES.pending;
  return html`
    <${Card}
      title="Amazon SES"
      actions=${html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`}
    >
      <div class="stack">
        <p class="soft">
          Mail leaves by Amazon SES, which takes it from verified domains only. It looks for the
          DKIM record above; no other record is needed.
        </p>
        ${ses.error && html`<${Notice} tone="warn" icon="alert-triangle">${ses.error}<//>`}
      </div>
    <//>
  `;
}
