// One domain: its DNS records and whether the DNS has them, and checking them now.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go, href } from "../core/router.js";
import { local, may } from "../core/service.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded, Notice, toast } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { KINDS, readiness } from "./domains.js";

const TITLES = { dkim: "Signature (DKIM)", cname: "Bounces", mx: "Bounces, by MX", dmarc: "Policy (DMARC)" };
const STATES = { valid: ["Published", "good", "circle-check"], invalid: ["Wrong or missing", "bad", "circle-x"], pending: ["No answer from the DNS", "warn", "clock"], unverified: ["Not checked", "", "circle"] };

export function DomainView({ kind, name }) {
  const { path: all, manage, verify } = KINDS[kind];
  const path = `${all}/${encodeURIComponent(name)}`;
  const domain = useResource((signal) => get(path, undefined, { signal }), [path]);
  const records = useResource((signal) => get(`${path}/dns-records`, undefined, { signal }), [path]);
  const [problems, setProblems] = useState({});
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    await attempt(async () => {
      const { results } = await post(`${path}/verify`, verify);
      setProblems(Object.fromEntries(Object.entries(results.dns ?? {}).filter(([key]) => key.endsWith("_error")).map(([key, text]) => [key.replace("_error", ""), text])));
      toast(readiness(kind, results)[0] === "Ready" ? "The domain is ready" : "Checked: not everything is there yet", readiness(kind, results)[0] === "Ready" ? "good" : "bad");
    });
    await Promise.all([domain.reload(), records.reload()]);
    setBusy(false);
  };
  const destroy = async () => {
    if (!(await confirm({ title: `Delete ${name}?`, text: kind === "sending" ? "Nothing can be sent from it any more, and its keys are destroyed." : "New mail uses another domain for its links. Links that were sent stop working.", typed: name }))) return;
    if (await attempt(() => remove(path), "Deleted")) go(["domains"], { kind: kind === "sending" ? "" : kind });
  };
  const publish = async (record) => {
    if (await attempt(() => put(`local/dns/${record.name}`, { records: [{ type: record.type, value: record.value }] }), "Published in the local DNS")) await check();
  };
  const back = ["Domains", href(["domains"], { kind: kind === "sending" ? "" : kind })];
  return html`<div class="page"><${PageHead} title=${name} back=${back}>
      <${CurlButton} path="${path}/dns-records" />
      ${may(manage) && html`<${Button} kind="primary" icon="refresh-cw" busy=${busy} onClick=${check}>Verify now<//><${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>`}<//>
    <${Loaded} resource=${domain}>${({ results }) => { const [text, tone, icon] = readiness(kind, results.status); return html`<div class="row wraps"><${Badge} tone=${tone} icon=${icon}>${text}<//>
      ${tone === "warn" && html`<span class="soft">Publish the records below where the domain's DNS is managed, then verify.</span>`}</div>`; }}<//>
    <${Loaded} resource=${records}>${({ results }) => html`<div class="stack">${results.map((record) => html`<${Record} key=${record.purpose} kind=${kind} record=${record} problem=${problems[record.purpose]}
      publish=${local.value && may(manage) && publish} />`)}</div>`}<//>
  </div>`;
}

function Record({ kind, record, problem, publish }) {
  const [text, tone, icon] = STATES[record.status] ?? ["Not checked", "", "circle"];
  const title = kind === "tracking" ? "Links" : TITLES[record.purpose];
  const actions = html`<span class="row wraps"><${Badge}>${record.required ? "Required" : "Recommended"}<//>${record.status && html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`}
    ${publish && record.status !== "valid" && html`<${Button} kind="small" icon="zap" onClick=${() => publish(record)}>Publish<span class="visually-hidden"> ${title}</span><//>`}</span>`;
  return html`<${Card} title=${title} actions=${actions}><div class="stack">
    <dl class="facts"><dt>Type</dt><dd class="mono">${record.type}</dd><dt>Name</dt><dd><${Copyable} text=${record.name} /></dd><dt>Value</dt><dd><${Copyable} text=${record.value} /></dd></dl>
    ${problem && html`<${Notice} tone="warn" icon="alert-triangle">${problem}<//>`}</div><//>`;
}
