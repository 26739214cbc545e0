// Domains: those that mail is sent from and those that links lead through, with their DNS records.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { withLetters } from "../core/international.js";
import { useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { PageLink } from "../parts/links.js";
import { Card, PageHead } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";
import { Ungranted } from "../parts/ungranted.js";
import { AddDomain } from "./domains-form.js";
import { DomainView } from "./domains-view.js";

/** What differs between the kinds of domains. */
export const KINDS = {
  sending: {
    path: "api/v1/sending-domains",
    grant: "sending_domains/view",
    manage: "sending_domains/manage",
    name: "sending domain",
    verify: { dkim_verify: true, cname_verify: true },
    about: "Mail is sent from a domain once its DNS records show that it is yours.",
    example: "mail.example.com",
    column: "Added",
  },
  tracking: {
    path: "api/v1/tracking-domains",
    grant: "tracking_domains/view",
    manage: "tracking_domains/manage",
    name: "tracking domain",
    verify: {},
    about: "Tracked links lead through a domain of yours to their targets.",
    example: "click.example.com",
    column: "Scheme",
  },
  inbound: {
    path: "api/v1/inbound-domains",
    grant: "inbound_domains/manage",
    manage: "inbound_domains/manage",
    name: "inbound domain",
    verify: {},
    about: "Mail to any address at it comes in here, and its routes say what becomes of it.",
    example: "reply.example.com",
    column: "Relay webhook",
  },
};

const INBOUND = {
  blocked: ["Blocked", "bad", "ban"],
  owned_by_other: ["Owned by another account", "bad", "ban"],
};

/** How ready an inbound domain is; mail that arrives is taken whatever its MX says. */
const inboundReadiness = ({ status, mx_status: mx }) =>
  INBOUND[status] ??
  (mx === "valid"
    ? ["Ready", "good", "circle-check"]
    : ["Its MX leads elsewhere", "warn", "alert-triangle"]);

/** How ready a domain is: text, tone and icon of its badge. */
export function readiness(kind, domain) {
  if (kind === "inbound") return inboundReadiness(domain);
  const { status } = domain;
  if (status.compliance_status !== "valid") return ["Blocked", "bad", "ban"];
  if (kind === "tracking")
    return status.verified
      ? ["Ready", "good", "circle-check"]
      : ["Not verified", "warn", "alert-triangle"];
  if (!status.ownership_verified) return ["Not verified", "warn", "alert-triangle"];
  return status.dkim_status === "valid"
    ? ["Ready", "good", "circle-check"]
    : ["Not signed", "warn", "alert-triangle"];
}

const TABS = { sending: "Sending", tracking: "Tracking", inbound: "Inbound" };

export default function Domains() {
  const { path } = route.value;
  if (!path[2]) return html`<${DomainList} />`;
  const kind = KINDS[path[1]] ? path[1] : "sending";
  if (may(KINDS[kind].grant)) return html`<${DomainView} kind=${kind} name=${path[2]} />`;
  return html`
    <div class="page">
      <${PageHead} title=${path[2]} back=${["Domains", href(["domains"])]} />
      <${Ungranted} what="${KINDS[kind].name}s" grant=${KINDS[kind].grant} />
    </div>
  `;
}

function DomainList() {
  const kinds = Object.keys(KINDS).filter((each) => may(KINDS[each].grant));
  const kind = kinds.includes(route.value.query.kind)
    ? route.value.query.kind
    : (kinds[0] ?? "sending");
  const { path, manage, name, about, example } = KINDS[kind];
  const resource = useResource((signal) => get(path, undefined, { signal }), [kind]);
  const [adding, setAdding] = useState(false);
  const add =
    may(manage) &&
    html`<${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>Add ${name}<//>`;
  return html`
    <div class="page">
      <${PageHead} title="Domains" about=${about}><${CurlButton} path=${path} />${add}<//>
      ${
        kinds.length > 1 &&
        html`
          <${Tabs}
            label="Kinds of domains"
            current=${kind}
            onChange=${(each) => setQuery({ kind: each === "sending" ? "" : each })}
            tabs=${kinds.map((each) => [each, TABS[each]])}
          />
        `
      }
      <${TabPanel} current=${kind}>
        <${Card} flush>
          <${Loaded} resource=${resource}>
            ${({ results }) =>
              results.length
                ? html`<${Table} kind=${kind} domains=${results} />`
                : html`
                  <${Empty} icon="globe" title="No ${name} yet" actions=${add}>
                    ${about} For example <code>${example}</code>.
                  <//>
                `}
          <//>
        <//>
      <//>
      ${adding && html`<${AddDomain} kind=${kind} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function Detail({ kind, domain }) {
  if (kind === "sending") return html`<${Time} at=${domain.creation_time} />`;
  if (kind === "tracking") return domain.secure ? "HTTPS" : "HTTP";
  const { relay_webhook_id: id } = domain;
  return id
    ? html`<${PageLink} path=${["webhooks", "relay", id]}>Webhook ${id}<//>`
    : html`<span class="faint">–</span>`;
}

function Table({ kind, domains }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Domains">
      <table class="table">
        <thead>
          <tr>
            <th>Domain</th>
            <th>State</th>
            <th>${KINDS[kind].column}</th>
            <th>Of</th>
          </tr>
        </thead>
        <tbody>
          ${domains.map((each) => {
            const [text, tone, icon] = readiness(kind, each);
            return html`
              <tr key=${each.domain}>
                <td>
                  <a class="strong" href=${href(["domains", kind, each.domain])}>
                    ${withLetters(each.domain)}
                  </a>
                  ${(each.default || each.is_default_bounce_domain) && html` <${Badge}>Default<//>`}
                </td>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                <td><${Detail} kind=${kind} domain=${each} /></td>
                <td>${each.subaccount_id ? `Subaccount ${each.subaccount_id}` : "Account"}</td>
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
  `;
}
