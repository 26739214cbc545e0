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
import { Card, PageHead } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";
import { Ungranted } from "../parts/ungranted.js";
import { AddDomain } from "./domains-form.js";
import { DomainView } from "./domains-view.js";

/** What differs between the two kinds of domains. */
export const KINDS = {
  sending: {
    path: "api/v1/sending-domains",
    grant: "sending_domains/view",
    manage: "sending_domains/manage",
    name: "sending domain",
    verify: { dkim_verify: true, cname_verify: true },
  },
  tracking: {
    path: "api/v1/tracking-domains",
    grant: "tracking_domains/view",
    manage: "tracking_domains/manage",
    name: "tracking domain",
    verify: {},
  },
};

/** How ready a domain is: text, tone and icon of its badge. */
export function readiness(kind, status) {
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
  const { path, manage, name } = KINDS[kind];
  const resource = useResource((signal) => get(path, undefined, { signal }), [kind]);
  const [adding, setAdding] = useState(false);
  const add =
    may(manage) &&
    html`<${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>Add ${name}<//>`;
  const about =
    kind === "sending"
      ? "Mail is sent from a domain once its DNS records show that it is yours."
      : "Tracked links lead through a domain of yours to their targets.";
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
            tabs=${[
              ["sending", "Sending"],
              ["tracking", "Tracking"],
            ]}
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
                    ${about} For example${" "}
                    <code>${kind === "sending" ? "mail.example.com" : "click.example.com"}</code>
                    .
                  <//>
                `}
          <//>
        <//>
      <//>
      ${adding && html`<${AddDomain} kind=${kind} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function Table({ kind, domains }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Domains">
      <table class="table">
        <thead>
          <tr>
            <th>Domain</th>
            <th>State</th>
            <th>${kind === "sending" ? "Added" : "Scheme"}</th>
            <th>Of</th>
          </tr>
        </thead>
        <tbody>
          ${domains.map((each) => {
            const [text, tone, icon] = readiness(kind, each.status);
            return html`
              <tr key=${each.domain}>
                <td>
                  <a class="strong" href=${href(["domains", kind, each.domain])}>
                    ${withLetters(each.domain)}
                  </a>
                  ${(each.default || each.is_default_bounce_domain) && html` <${Badge}>Default<//>`}
                </td>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                <td>
                  ${
                    kind === "sending"
                      ? html`<${Time} at=${each.creation_time} />`
                      : each.secure
                        ? "HTTPS"
                        : "HTTP"
                  }
                </td>
                <td>${each.subaccount_id ? `Subaccount ${each.subaccount_id}` : "Account"}</td>
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
  `;
}
