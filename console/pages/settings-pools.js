// IP pools, their sending IPs, and how far each IP is in its warm-up.
import { html, useState } from "../vendor/preact.js";
import { get, post, remove } from "../core/api.js";
import { number, share } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { Badge, Button, Copyable, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const PATH = "api/v1/ip-pools";

export function Pools() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const add = async () => { await post(PATH, { name }); setName(""); resource.reload(); };
  const destroy = async (pool) => {
    if (await confirm({ title: `Delete ${pool.name}?`, text: "Its IPs move to the default pool." })) await attempt(() => remove(`${PATH}/${pool.id}`).then(resource.reload), "Deleted");
  };
  return html`<div class="stack"><div class="row"><span class="grow soft">Mail of a pool leaves by its IPs.</span><${CurlButton} path=${PATH} />${may("ip_pools/manage") && html`<${Button} kind="primary small" icon="plus" onClick=${() => setAdding(true)}>Add IP pool<//>`}</div>
    <${Loaded} resource=${resource}>${({ results }) => html`${results.map((pool) => html`<${Card} key=${pool.id} title=${pool.name} flush
      actions=${html`<span class="row"><${Copyable} text=${pool.id} />${may("ip_pools/manage") && pool.id !== "default" && html`<${Button} kind="small danger" icon="trash-2" onClick=${() => destroy(pool)}>Delete<span class="visually-hidden"> ${pool.name}</span><//>`}</span>`}>
      ${pool.ips.length ? html`<ul class="items" aria-label="IPs of ${pool.name}">${pool.ips.map((ip) => html`<${Ip} key=${ip.external_ip} ip=${ip} />`)}</ul>`
    : html`<${Empty} level=${3} icon="network" title="No sending IP">Mail of this pool leaves by the deployment's own transport.<//>`}<//>`)}`}<//>
    ${adding && html`<${Dialog} title="Add IP pool" submit="Add" disabled=${!name} onClose=${() => setAdding(false)} onSubmit=${add}><${TextField} label="Name" value=${name} onInput=${setName} /><//>`}</div>`;
}

function Ip({ ip }) {
  const warmup = useResource((signal) => (ip.auto_warmup_enabled ? get(`api/v1/sending-ips/${ip.external_ip}/warmup`, undefined, { signal }) : { results: {} }), [ip.external_ip]);
  const { today, last_stage: last } = warmup.data?.results ?? {};
  return html`<li><div class="grow"><div class="strong mono">${ip.external_ip}</div><div>${ip.hostname}</div></div>
    ${today ? html`<span class="soft num">${number(today.sent)} of ${number(today.limit)} today (${share(today.sent, today.limit)})</span><${Badge} tone="info" icon="trending-up">Day ${today.stage} of ${last}<//>`
    : html`<${Badge} tone=${ip.auto_warmup_enabled ? "" : "good"} icon=${ip.auto_warmup_enabled ? "clock" : "circle-check"}>${ip.auto_warmup_enabled ? "Warming up" : "Warm"}<//>`}</li>`;
}
