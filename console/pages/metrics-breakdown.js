// The counts of a window divided: by domain, campaign and so on, or by reason. A row of a group leads
// into it: it becomes a filter of the page.
import { html, useMemo } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { save, toCsv } from "../core/files.js";
import { number, share } from "../core/format.js";
import { GROUPS, REASONS } from "../core/metrics.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { Button, Icon, TabPanel, Tabs } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const COLUMNS = [
  ["Sent", "count_injected"], ["Delivered", "count_delivered", "count_injected"], ["Bounced", "count_bounce", "count_injected"],
  ["Opened", "count_unique_confirmed_opened", "count_delivered"], ["Clicked", "count_unique_clicked", "count_delivered"], ["Complaints", "count_spam_complaint", "count_delivered"],
];
const METRICS_OF = { "bounce-reason": "count_bounce", "rejection-reason": "count_rejected", "delay-reason": "count_delayed,count_delayed_first", "link-name": "count_clicked", attempt: "count_delivered" };

export function Breakdown({ report, identity }) {
  const { query } = route.value;
  const by = GROUPS[query.by] || REASONS[query.by] ? query.by : "domain";
  const group = GROUPS[by];
  const parameters = { ...report, metrics: group ? COLUMNS.map(([, metric]) => metric) : METRICS_OF[by], limit: 1000, ...(group ? { order_by: "count_injected" } : {}) };
  const path = `api/v1/metrics/deliverability/${by}`;
  const resource = useResource((signal) => get(path, parameters, { signal }).then((answer) => ({ by, rows: answer.results })), [identity, by]);
  const tabs = [...Object.entries(GROUPS).map(([id, [name]]) => [id, name]), ...Object.entries(REASONS).map(([id, [name]]) => [id, name])];
  const columns = group ? [[group[0], group[1]], ...COLUMNS] : REASONS[by][1];
  const data = resource.data?.by === by ? resource.data : undefined;
  const csv = () => save(`${by}.csv`, toCsv(columns.map(([, key]) => key), data.rows), "text/csv");
  return html`<${Card} title="Breakdown" flush actions=${html`<${Button} kind="ghost small" icon="download" disabled=${!data?.rows.length} onClick=${csv}>CSV<//><${CurlButton} path=${path} query=${parameters} />`}>
    <div class="card-tabs"><${Tabs} id="by" label="Breakdown by" tabs=${tabs} current=${by} onChange=${(value) => setQuery({ by: value === "domain" ? "" : value, sort: "" })} /></div>
    <${TabPanel} id="by" current=${by}><${Loaded} resource=${{ ...resource, data }}>${({ rows }) => (rows.length ? html`<${Rows} rows=${rows} columns=${columns} group=${group} />`
      : html`<${Empty} level=${3} icon="chart-line" title="Nothing here">${group ? "No message of this window has it." : "There was none in this window."}<//>`)}<//><//><//>`;
}

function Rows({ rows, columns, group }) {
  const { query } = route.value;
  const counts = columns.filter(([, key]) => key.startsWith("count_")).map(([, key]) => key);
  const sort = counts.includes(query.sort) ? query.sort : counts[0];
  const ordered = useMemo(() => [...rows].sort((a, b) => (b[sort] ?? 0) - (a[sort] ?? 0)), [rows, sort]);
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Breakdown"><table class="table"><thead><tr>${columns.map(([name, key]) => (key.startsWith("count_")
    ? html`<th key=${key} scope="col" class="right" aria-sort=${key === sort ? "descending" : "none"}><button type="button" onClick=${() => setQuery({ sort: key === counts[0] ? "" : key })}>${name}${key === sort && html`<${Icon} name="arrow-down" />`}</button></th>`
    : html`<th key=${key} scope="col">${name}</th>`))}</tr></thead>
    <tbody>${ordered.slice(0, 200).map((row, index) => html`<tr key=${index}>${columns.map(([, key, base], column) => (key.startsWith("count_")
      ? html`<td key=${key} class="right">${number(row[key] ?? 0)}${base && html` <span class="faint part">${share(row[key], row[base])}</span>`}</td>`
      : html`<td key=${key} class="wrap">${column === 0 && group && row[key] !== undefined && row[key] !== "" ? html`<button type="button" class="plain-link" onClick=${() => setQuery({ [group[2]]: String(row[key]) })}>${row[key]}</button>` : row[key] || html`<span class="faint">none</span>`}</td>`))}</tr>`)}</tbody></table>
    ${ordered.length > 200 && html`<p class="grid-foot">The 200 largest of ${number(ordered.length)}. CSV has all.</p>`}</div>`;
}
