// API keys: which there are, what each may do, until when and since when not used, and making one.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import {
  API_KEYS as PATH,
  endsSoon,
  exactUse,
  hasEnded,
  lastUse,
  listOf,
  maker,
  SHOWN,
} from "../core/api-keys.js";
import { localTime, plural } from "../core/format.js";
import { inFewWords, loadGrants } from "../core/grants.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { ownKey, subaccountName } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Badge, Button, SelectField, TextField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { Card } from "../parts/page.js";
import { SearchField } from "../parts/search-field.js";
import {
  AddressesField,
  addressesOf,
  EndField,
  endOf,
  KeyGrants,
  KeyOnce,
} from "./settings-grants.js";

export function Keys() {
  const { q = "", show = "" } = route.value.query;
  const { query, fits } = listOf(q, show);
  const resource = useResource(
    async (signal) => {
      const [{ results }, offer] = await Promise.all([
        get(PATH, query, { signal }),
        loadGrants(signal),
      ]);
      return { rows: results.filter(fits), offer };
    },
    [q, show],
  );
  const [form, setForm] = useState(null);
  const [secret, setSecret] = useState("");
  const actions = html`
    <span class="row">
      <${CurlButton} path=${PATH} query=${query} />
      <${Button} kind="primary small" icon="plus" onClick=${() => setForm({})}>New API key<//>
    </span>
  `;
  return html`
    <${Card} title="API keys" flush actions=${actions}>
      <${Filter} q=${q} show=${show} />
      <${List} resource=${resource} filtered=${Boolean(q || show)} setForm=${setForm} />
      ${
        form &&
        html`
          <${KeyForm}
            key=${form.id ?? "new"}
            former=${form.id ? form : null}
            onClose=${() => setForm(null)}
            onSaved=${(text) => {
              if (text) setSecret(text);
              resource.reload();
            }}
          />
        `
      }
      ${secret && html`<${KeyOnce} text=${secret} onClose=${() => setSecret("")} />`}
    <//>
  `;
}

function List({ resource, filtered, setForm }) {
  const destroy = deleteAction(resource);
  return html`
    <${Loaded} resource=${resource}>
      ${({ rows, offer }) =>
        rows.length
          ? html`
            <ul class="items" aria-label="API keys">
              ${rows.map(
                (each) => html`
                  <${KeyRow}
                    key=${each.id}
                    row=${each}
                    offer=${offer}
                    setForm=${setForm}
                    destroy=${destroy}
                  />
                `,
              )}
            </ul>
          `
          : html`<${NoKey} filtered=${filtered} />`}
    <//>
  `;
}

function Filter({ q, show }) {
  return html`
    <div class="pane-note toolbar fit">
      <${SearchField}
        label="Find a key"
        value=${q}
        onInput=${(text) => setQuery({ q: text })}
      />
      <${SelectField}
        hideLabel
        label="Which keys"
        value=${show}
        options=${SHOWN}
        onChange=${(name) => setQuery({ show: name })}
      />
    </div>
  `;
}

function NoKey({ filtered }) {
  if (filtered)
    return html`
      <${Empty} level=${3} icon="search" title="No API key matches">
        Another name or choice above shows others.
      <//>
    `;
  return html`
    <${Empty} level=${3} icon="key" title="No API key here">
      A key lets a program use the service for this account or subaccount.
    <//>
  `;
}

function deleteAction(resource) {
  return async (key) => {
    if (
      await confirm({
        title: `Delete ${key.label}?`,
        text: "Requests with this key are refused from then on.",
        typed: key.label,
      })
    )
      await attempt(() => remove(`${PATH}/${key.id}`).then(resource.reload), "Deleted");
  };
}

function KeyRow({ row, offer, setForm, destroy }) {
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="row wraps">
          <span class="strong">${row.label}</span>
          <code>${row.short_key}…</code>
          ${row.id === ownKey.value && html`<${Badge} tone="info" icon="user">This key<//>`}
          ${
            row.subaccount_id &&
            html`<${Badge} icon="users">${subaccountName(row.subaccount_id)}<//>`
          }
          <${End} row=${row} />
        </div>
        <div>
          ${inFewWords(row.grants, offer)}
          ${
            row.valid_ips.length
              ? `, from ${plural(row.valid_ips.length, "address", "addresses")}`
              : ""
          }
        </div>
        <div>
          Made <${Time} at=${row.created_at} />${maker(row) && ` by ${maker(row)}`},${" "}
          <span class="nowrap" title=${exactUse(row)}>${lastUse(row)}</span>
        </div>
      </div>
      <span class="row">
        <${Button} kind="small" icon="pencil" onClick=${() => setForm(row)}>
          Change<span class="visually-hidden"> ${row.label}</span>
        <//>
        <${Button}
          kind="small danger"
          icon="trash-2"
          disabled=${row.id === ownKey.value}
          onClick=${() => destroy(row)}
        >
          Delete<span class="visually-hidden"> ${row.label}</span>
        <//>
      </span>
    </li>
  `;
}

function End({ row }) {
  if (!row.expires_at) return null;
  const time = html`<${Time} at=${row.expires_at} />`;
  if (hasEnded(row)) return html`<${Badge} tone="bad" icon="circle-x">Ended ${time}<//>`;
  return html`
    <${Badge}
      tone=${endsSoon(row) ? "warn" : ""}
      icon=${endsSoon(row) ? "alert-triangle" : "calendar"}
    >
      Ends ${time}
    <//>
  `;
}

function KeyForm({ former, onClose, onSaved }) {
  const [name, setName] = useState(former?.label ?? "");
  const [chosen, setChosen] = useState(new Set(former?.grants ?? []));
  const [addresses, setAddresses] = useState((former?.valid_ips ?? []).join(", "));
  const formerEnd = localTime(former?.expires_at);
  const [end, setEnd] = useState(formerEnd);
  const ofSubaccount = Boolean(
    former ? former.subaccount_id : subaccount.value !== "" && subaccount.value !== "0",
  );
  const save = async () => {
    const fields = { label: name, grants: [...chosen], valid_ips: addressesOf(addresses) };
    const body = end === formerEnd ? fields : { ...fields, expires_at: endOf(end) };
    const answer = former ? await put(`${PATH}/${former.id}`, body) : await post(PATH, body);
    onSaved(former ? "" : answer.results.key);
  };
  return html`
    <${Dialog}
      wide
      title=${former ? "Change API key" : "New API key"}
      submit=${former ? "Save" : "Make key"}
      disabled=${!name || !chosen.size}
      onClose=${onClose}
      onSubmit=${save}
    >
      <div class="form-grid">
        <${TextField} label="Name" value=${name} onInput=${setName} />
        <${AddressesField} value=${addresses} onInput=${setAddresses} />
        <${EndField} value=${end} onInput=${setEnd} />
      </div>
      <${KeyGrants} chosen=${chosen} onChange=${setChosen} ofSubaccount=${ofSubaccount} />
      ${former && html`<${LastChanged} resource="api-keys" id=${former.id} />`}
    <//>
  `;
}
