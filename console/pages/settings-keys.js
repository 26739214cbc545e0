// API keys: which there are, what each may do, and making one.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import { plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { grants as ownGrants } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Badge, Button, CheckField, TextField, Time } from "../parts/controls.js";
import { Code, CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const PATH = "api/v1/api-keys";

export function Keys() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const current = useResource((signal) => get(`${PATH}/current`, undefined, { signal }));
  const [form, setForm] = useState(null);
  const [secret, setSecret] = useState("");
  const own = current.data?.results.id;
  const destroy = async (key) => {
    if (await confirm({ title: `Delete ${key.label}?`, text: "Requests with this key are refused from then on.", typed: key.label })) await attempt(() => remove(`${PATH}/${key.id}`).then(resource.reload), "Deleted");
  };
  const actions = html`<span class="row"><${CurlButton} path=${PATH} /><${Button} kind="primary small" icon="plus" onClick=${() => setForm({})}>New API key<//></span>`;
  return html`<${Card} title="API keys" flush actions=${actions}><${Loaded} resource=${resource}>${({ results }) => (results.length ? html`<ul class="items" aria-label="API keys">${results.map((key) => html`<li key=${key.id}>
      <div class="grow"><div class="row wraps"><span class="strong">${key.label}</span><code>${key.short_key}…</code>${key.id === own && html`<${Badge} tone="info" icon="user">This key<//>`}${key.subaccount_id && html`<${Badge}>Subaccount ${key.subaccount_id}<//>`}</div>
        <div>${plural(key.grants.length, "grant")}${key.valid_ips.length ? `, from ${plural(key.valid_ips.length, "address", "addresses")}` : ""}, made <${Time} at=${key.created_at} /></div></div>
      <${Button} kind="small" icon="pencil" onClick=${() => setForm(key)}>Change<span class="visually-hidden"> ${key.label}</span><//>
      <${Button} kind="small danger" icon="trash-2" disabled=${key.id === own} onClick=${() => destroy(key)}>Delete<span class="visually-hidden"> ${key.label}</span><//></li>`)}</ul>`
    : html`<${Empty} level=${3} icon="key" title="No API key here">A key lets a program use the service for this account or subaccount.<//>`)}<//>
    ${form && html`<${KeyForm} key=${form.id ?? "new"} former=${form.id ? form : null} onClose=${() => setForm(null)} onSaved=${(text) => { if (text) setSecret(text); resource.reload(); }} />`}
    ${secret && html`<${Dialog} title="The new API key" onClose=${() => setSecret("")}><p class="soft">Copy it now: it is shown this once.</p><${Code} text=${secret} label="Key" /><//>`}<//>`;
}

function KeyForm({ former, onClose, onSaved }) {
  const [name, setName] = useState(former?.label ?? "");
  const [chosen, setChosen] = useState(new Set(former?.grants ?? []));
  const [addresses, setAddresses] = useState((former?.valid_ips ?? []).join(", "));
  const ofSubaccount = former ? former.subaccount_id : subaccount.value !== "" && subaccount.value !== "0";
  const all = useResource((signal) => get("api/v1/authenticate/grants", ofSubaccount ? { role: "subaccount" } : undefined, { signal }));
  const toggle = (grant, on) => setChosen((before) => { const after = new Set(before); after[on ? "add" : "delete"](grant); return after; });
  const save = async () => {
    const body = { label: name, grants: [...chosen], valid_ips: addresses.split(/[\s,]+/).filter(Boolean) };
    const answer = former ? await put(`${PATH}/${former.id}`, body) : await post(PATH, body);
    onSaved(former ? "" : answer.results.key);
  };
  return html`<${Dialog} wide title=${former ? "Change API key" : "New API key"} submit=${former ? "Save" : "Make key"} disabled=${!name || !chosen.size} onClose=${onClose} onSubmit=${save}>
    <div class="form-grid"><${TextField} label="Name" value=${name} onInput=${setName} /><${TextField} label="Addresses that may use it" optional placeholder="192.0.2.0/24" hint="IP addresses or networks, with commas between. Empty: every address." value=${addresses} onInput=${setAddresses} spellcheck="false" /></div>
    <fieldset class="checks"><legend>What it may do</legend><${Loaded} resource=${all}>${({ results }) => results.filter((each) => ownGrants.value === null || ownGrants.value.has(each.key)).map((each) => html`
      <${CheckField} key=${each.key} label=${each.label} hint=${each.description} checked=${chosen.has(each.key)} onChange=${(on) => toggle(each.key, on)} />`)}<//></fieldset><//>`;
}
