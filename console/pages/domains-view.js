// One domain: its DNS records and whether the DNS has them, its keys, and what it is used for.
import { html, useState } from "../vendor/preact.js";
import { get, post, remove } from "../core/api.js";
import { withLetters } from "../core/international.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { local, may } from "../core/service.js";
import { Badge, Button } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded, toast } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { PageHead } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { KINDS, readiness } from "./domains.js";
import { Keys } from "./domains-keys.js";
import { publish, Record, Ses, Spf } from "./domains-records.js";
import { Routes } from "./domains-routes.js";
import { Mailboxes, SendingSettings, TrackingSettings } from "./domains-settings.js";

const PARTS = {
  sending: [
    ["records", "Records"],
    ["keys", "Keys"],
    ["settings", "Settings"],
  ],
  tracking: [
    ["records", "Records"],
    ["settings", "Settings"],
  ],
  inbound: [
    ["records", "Records"],
    ["routes", "Routes"],
  ],
};
const LOSS = {
  sending: "Nothing can be sent from it any more, and its keys are destroyed.",
  tracking: "New mail uses another domain for its links. Links that were sent stop working.",
  inbound: "Mail to it is refused from then on. Messages that came in stay.",
};

export function DomainView({ kind, name }) {
  const { path: all, manage, verify } = KINDS[kind];
  const path = `${all}/${encodeURIComponent(name)}`;
  const domain = useResource((signal) => get(path, undefined, { signal }), [path]);
  const records = useResource(
    (signal) => get(`${path}/dns-records`, undefined, { signal }),
    [path],
  );
  const [problems, setProblems] = useState({});
  const [busy, setBusy] = useState(false);
  const parts = PARTS[kind];
  const part = parts.some(([each]) => each === route.value.query.part)
    ? route.value.query.part
    : "records";
  const reload = () => Promise.all([domain.reload(), records.reload()]);
  const check = checkAction({ verify, records, setBusy, reload, path, setProblems, kind });
  const destroy = deleteAction(name, kind, path);
  const own = {
    path,
    domain: domain.data?.results,
    isLocal: local.value,
    manages: may(manage),
    reload,
  };
  return html`
    <div class="page">
      <${Head}
        name=${name}
        kind=${kind}
        path=${path}
        own=${own}
        busy=${busy}
        check=${check}
        destroy=${destroy}
      />
      <${Readiness} domain=${domain} kind=${kind} />
      ${
        own.domain &&
        html`<${LastChanged} resource="${kind}-domains" id=${name} of=${own.domain} />`
      }
      <${Tabs}
        label="Parts of the domain"
        current=${part}
        onChange=${(each) => setQuery({ part: each === "records" ? "" : each })}
        tabs=${parts}
      />
      <${Part}
        part=${part}
        kind=${kind}
        name=${name}
        records=${records}
        problems=${problems}
        check=${check}
        own=${own}
      />
    </div>
  `;
}

function Part({ part, kind, name, records, problems, check, own }) {
  return html`
    <${TabPanel} current=${part}>
      ${
        part === "records"
          ? html`
            <${Records}
              kind=${kind}
              name=${name}
              records=${records}
              problems=${problems}
              check=${check}
              ...${own}
            />
          `
          : own.domain &&
            (part === "keys"
              ? html`<${Keys} ...${own} />`
              : part === "routes"
                ? html`<${Routes} ...${own} />`
                : kind === "sending"
                  ? html`<${SendingSettings} ...${own} />`
                  : html`<${TrackingSettings} ...${own} />`)
      }
    <//>
  `;
}

function Readiness({ domain, kind }) {
  return html`
    <${Loaded} resource=${domain}>
      ${({ results }) => {
        const [text, tone, icon] = readiness(kind, results);
        return html`
          <div class="row wraps">
            <${Badge} tone=${tone} icon=${icon}>${text}<//>
            ${
              tone === "warn" &&
              html`
                <span class="soft">
                  Publish the records below where the domain's DNS is managed, then verify.
                </span>
              `
            }
          </div>
        `;
      }}
    <//>
  `;
}

function Head({ name, kind, path, own, busy, check, destroy }) {
  return html`
    <${PageHead}
      title=${withLetters(name)}
      back=${["Domains", href(["domains"], { kind: kind === "sending" ? "" : kind })]}
    >
      <${CurlButton} path="${path}/dns-records" />
      ${
        own.manages &&
        html`
          <${Button} kind="primary" icon="refresh-cw" busy=${busy} onClick=${check}>Verify now<//>
          <${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
        `
      }
    <//>
  `;
}

function deleteAction(name, kind, path) {
  return async () => {
    if (
      !(await confirm({
        title: `Delete ${name}?`,
        text: LOSS[kind],
        typed: name,
      }))
    )
      return;
    if (await attempt(() => remove(path), "Deleted"))
      go(["domains"], { kind: kind === "sending" ? "" : kind });
  };
}

function checkAction({ verify, records, setBusy, reload, path, setProblems, kind }) {
  // A check by MX is for accounts whose records name one
  const checks = () => ({
    ...verify,
    ...(records.data?.results.some((each) => each.purpose === "mx") ? { mx_verify: true } : {}),
  });
  const check = async () => {
    setBusy(true);
    await attempt(async () => {
      const { results } = await post(`${path}/verify`, checks());
      setProblems(
        Object.fromEntries(
          Object.entries(results.dns ?? {})
            .filter(([key]) => key.endsWith("_error"))
            .map(([key, text]) => [key.replace("_error", ""), text]),
        ),
      );
      // An inbound domain is returned as a whole, the others with their statuses only
      const state = kind === "inbound" ? results : { status: results };
      const ready = readiness(kind, state)[0] === "Ready";
      toast(
        ready ? "The domain is ready" : "Checked: not everything is there yet",
        ready ? "good" : "bad",
      );
    });
    await reload();
    setBusy(false);
  };
  return check;
}

/** What a record is for, where its kind of domain says more than its purpose. */
const PURPOSES = { tracking: "links", inbound: "inbound" };

function Records({ kind, name, path, domain, records, problems, isLocal, manages, check, reload }) {
  const onPublish =
    isLocal &&
    manages &&
    (async (record) => {
      if (await publish(record)) await check();
    });
  return html`
    <${Loaded} resource=${records}>
      ${({ results }) => html`
        <div class="stack">
          ${results.map(
            (record) => html`
              <${Record}
                key=${record.purpose}
                purpose=${PURPOSES[kind] ?? record.purpose}
                record=${record}
                problem=${domain?.mx_error || problems[record.purpose]}
                onPublish=${onPublish}
              />
            `,
          )}
          ${
            kind === "sending" &&
            domain &&
            html`
              ${domain.ses && html`<${Ses} ses=${domain.ses} />`}
              <${Spf} status=${domain.status.spf_status} problem=${problems.spf} />
              ${
                manages &&
                !results.some((each) => each.purpose === "mx") &&
                html`
                  <${Mailboxes}
                    name=${name}
                    path=${path}
                    status=${domain.status}
                    reload=${reload}
                  />
                `
              }
            `
          }
        </div>
      `}
    <//>
  `;
}
