// Subaccounts: which there are, whether each may send, and adding one.
import { html, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Badge, Button, Copyable, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const PATH = "api/v1/subaccounts";
const STATES = { active: ["Active", "good", "circle-check"], suspended: ["Suspended", "warn", "pause"], terminated: ["Terminated", "bad", "ban"] };

export function Subaccounts() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const add = async () => { await post(PATH, { name, setup_api_key: false }); setName(""); resource.reload(); };
  const change = async (each, status) => {
    if (status !== "active" && !(await confirm({ title: `Suspend ${each.name}?`, text: "It cannot send until it is active again.", action: "Suspend" }))) return;
    await attempt(() => put(`${PATH}/${each.id}`, { status }).then(resource.reload), status === "active" ? "Active again" : "Suspended");
  };
  const actions = html`<span class="row"><${CurlButton} path=${PATH} />${may("subaccount/manage") && html`<${Button} kind="primary small" icon="plus" onClick=${() => setAdding(true)}>Add subaccount<//>`}</span>`;
  return html`<${Card} title="Subaccounts" flush actions=${actions}><${Loaded} resource=${resource}>${({ results }) => (results.length ? html`<ul class="items" aria-label="Subaccounts">${results.map((each) => {
      const [text, tone, icon] = STATES[each.compliance_status] ?? STATES[each.status];
      return html`<li key=${each.id}><div class="grow"><div class="strong clip">${each.name}</div><div><${Copyable} text=${String(each.id)} />${each.ip_pool && ` sends by ${each.ip_pool}`}</div></div><${Badge} tone=${tone} icon=${icon}>${text}<//>
        <${Button} kind="small" onClick=${() => { subaccount.value = String(each.id); }}>Act for it<span class="visually-hidden">: ${each.name}</span><//>
        ${may("subaccount/manage") && each.status !== "terminated" && html`<${Button} kind="small" onClick=${() => change(each, each.status === "active" ? "suspended" : "active")}>${each.status === "active" ? "Suspend" : "Activate"}<span class="visually-hidden"> ${each.name}</span><//>`}</li>`;
    })}</ul>` : html`<${Empty} level=${3} icon="users" title="No subaccount yet">A subaccount has keys, domains, templates and figures of its own.<//>`)}<//>
    ${adding && html`<${Dialog} title="Add subaccount" submit="Add" disabled=${!name} onClose=${() => setAdding(false)} onSubmit=${add}><${TextField} label="Name" value=${name} onInput=${setName} /><//>`}<//>`;
}
