// API keys: which there are, what each may do, and making one.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import { plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { subaccountName } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Badge, Button, TextField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { AddressesField, addressesOf, GrantsField, KeyOnce } from "./settings-grants.js";

const PATH = "api/v1/api-keys";

export function Keys() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const current = useResource((signal) => get(`${PATH}/current`, undefined, { signal }));
  const [form, setForm] = useState(null);
  const [secret, setSecret] = useState("");
  const own = current.data?.results.id;
  const destroy = deleteAction(resource);
  const actions = html`
    <span class="row">
      <${CurlButton} path=${PATH} />
      <${Button} kind="primary small" icon="plus" onClick=${() => setForm({})}>New API key<//>
    </span>
  `;
  return html`
    <${Card} title="API keys" flush actions=${actions}>
      <${Loaded} resource=${resource}>
        ${({ results }) =>
          results.length
            ? html`
              <ul class="items" aria-label="API keys">
                ${results.map(
                  (each) => html`
                    <${KeyRow}
                      key=${each.id}
                      row=${each}
                      own=${own}
                      setForm=${setForm}
                      destroy=${destroy}
                    />
                  `,
                )}
              </ul>
            `
            : html`
              <${Empty} level=${3} icon="key" title="No API key here">
                A key lets a program use the service for this account or subaccount.
              <//>
            `}
      <//>
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

function KeyRow({ row, own, setForm, destroy }) {
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="row wraps">
          <span class="strong">${row.label}</span>
          <code>${row.short_key}…</code>
          ${row.id === own && html`<${Badge} tone="info" icon="user">This key<//>`}
          ${
            row.subaccount_id &&
            html`<${Badge} icon="users">${subaccountName(row.subaccount_id)}<//>`
          }
        </div>
        <div>
          ${plural(row.grants.length, "grant")}
          ${
            row.valid_ips.length
              ? `, from ${plural(row.valid_ips.length, "address", "addresses")}`
              : ""
          }
          , made <${Time} at=${row.created_at} />
        </div>
      </div>
      <span class="row">
        <${Button} kind="small" icon="pencil" onClick=${() => setForm(row)}>
          Change<span class="visually-hidden"> ${row.label}</span>
        <//>
        <${Button}
          kind="small danger"
          icon="trash-2"
          disabled=${row.id === own}
          onClick=${() => destroy(row)}
        >
          Delete<span class="visually-hidden"> ${row.label}</span>
        <//>
      </span>
    </li>
  `;
}

function KeyForm({ former, onClose, onSaved }) {
  const [name, setName] = useState(former?.label ?? "");
  const [chosen, setChosen] = useState(new Set(former?.grants ?? []));
  const [addresses, setAddresses] = useState((former?.valid_ips ?? []).join(", "));
  const ofSubaccount = Boolean(
    former ? former.subaccount_id : subaccount.value !== "" && subaccount.value !== "0",
  );
  const save = async () => {
    const body = { label: name, grants: [...chosen], valid_ips: addressesOf(addresses) };
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
      </div>
      <${GrantsField} chosen=${chosen} onChange=${setChosen} ofSubaccount=${ofSubaccount} />
    <//>
  `;
}
