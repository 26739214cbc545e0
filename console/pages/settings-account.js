// The account, and how much of its plan it has used.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { exactTime, label, number } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { Badge, Copyable } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded } from "../parts/feedback.js";
import { Card, Tiles } from "../parts/page.js";

const PATH = "api/v1/account";
const QUERY = { include: "usage" };

export function Account() {
  const resource = useResource((signal) => get(PATH, QUERY, { signal }));
  const counts = useResource((signal) => get("api/v1/counts", undefined, { signal }));
  return html`<${Loaded} resource=${resource}>${({ results }) => html`<div class="stack">
    ${results.usage && html`<${Tiles} tiles=${[tile("Messages today", results.usage.day), tile("Messages this month", results.usage.month)]} />`}
    <div class="columns"><${Card} title="Account" actions=${html`<${CurlButton} path=${PATH} query=${QUERY} />`}><dl class="facts">
      <dt>Name</dt><dd>${results.company_name}</dd><dt>Id</dt><dd><${Copyable} text=${String(results.customer_id)} /></dd>
      <dt>State</dt><dd><${Badge} tone=${results.status === "active" ? "good" : "bad"} icon=${results.status === "active" ? "circle-check" : "ban"}>${label(results.status)}<//></dd>
      <dt>Plan</dt><dd>${results.subscription?.name ?? "None"}</dd><dt>Created</dt><dd>${exactTime(results.created)}</dd></dl><//>
    <${Card} title="What it has"><${Loaded} resource=${counts}>${(answer) => html`<dl class="facts">${Object.entries(answer.results).map(([kind, each]) => html`
      <dt key=${kind}>${kind === "api_keys" ? "API keys" : kind === "ab_tests" ? "A/B tests" : label(kind)}</dt><dd class="num">${number(each.count)}${each.more ? "+" : ""}</dd>`)}</dl>`}<//><//></div>
  </div>`}<//>`;
}

const tile = (name, period) => ({ label: name, value: number(period.used), note: period.limit < 0 ? "no limit" : `of ${number(period.limit)}` });
