// Subaccounts: which there are, whether each may send, adding, changing and ending one.
import { html, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { may, reloadSubaccounts } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Badge, Button, CheckField, Copyable, SelectField, TextField } from "../parts/controls.js";
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

const PATH = "api/v1/subaccounts";
const FEW = 8;
const STATES = {
  active: ["Active", "good", "circle-check"],
  suspended: ["Suspended", "warn", "pause"],
  terminated: ["Terminated", "bad", "ban"],
};
const CHANGES = {
  active: { done: "Active again" },
  suspended: {
    action: "Suspend",
    done: "Suspended",
    text: "It cannot send until it is active again. It can still read.",
  },
  terminated: {
    action: "Terminate",
    done: "Terminated",
    text: "It cannot send any more. What it has stays readable. This is meant for good.",
  },
};

export function Subaccounts() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const [form, setForm] = useState(null);
  const [secret, setSecret] = useState("");
  const { q = "" } = route.value.query;
  const reload = () => {
    reloadSubaccounts();
    return resource.reload();
  };
  const change = changeAction(reload);
  const actions = html`
    <span class="row">
      <${CurlButton} path=${PATH} />
      ${
        may("subaccount/manage") &&
        html`
          <${Button} kind="primary small" icon="plus" onClick=${() => setForm({})}>
            Add subaccount
          <//>
        `
      }
    </span>
  `;
  return html`
    <${Card} title="Subaccounts" flush actions=${actions}>
      <${Matching} resource=${resource} q=${q} change=${change} setForm=${setForm} />
      ${
        form &&
        html`
          <${SubaccountForm}
            key=${form.id ?? "new"}
            former=${form.id ? form : null}
            onClose=${() => setForm(null)}
            onSaved=${(text) => {
              if (text) setSecret(text);
              reload();
            }}
          />
        `
      }
      ${secret && html`<${KeyOnce} text=${secret} onClose=${() => setSecret("")} />`}
    <//>
  `;
}

function changeAction(reload) {
  return async (each, status) => {
    const { action, text, done } = CHANGES[status];
    if (
      action &&
      !(await confirm({
        title: `${action} ${each.name}?`,
        text,
        action,
        typed: status === "terminated" ? each.name : undefined,
      }))
    )
      return;
    await attempt(() => put(`${PATH}/${each.id}`, { status }).then(reload), done);
  };
}

function Matching({ resource, q, change, setForm }) {
  return html`
    <${Loaded} resource=${resource}>
      ${({ results }) => {
        const matching = results.filter((each) =>
          `${each.name} ${each.id} ${each.ip_pool}`.toLowerCase().includes(q.toLowerCase()),
        );
        if (!results.length)
          return html`
            <${Empty} level=${3} icon="users" title="No subaccount yet">
              A subaccount has keys, domains, templates and figures of its own.
            <//>
          `;
        return html`
          ${
            (results.length > FEW || q) &&
            html`
              <div class="pane-note">
                <${SearchField}
                  label="Name, number or pool"
                  value=${q}
                  onInput=${(text) => setQuery({ q: text })}
                />
              </div>
            `
          }
          ${
            matching.length
              ? html`
                <ul class="items" aria-label="Subaccounts">
                  ${matching.map(
                    (each) => html`
                      <${Row}
                        key=${each.id}
                        each=${each}
                        onChange=${(status) => change(each, status)}
                        onEdit=${() => setForm(each)}
                      />
                    `,
                  )}
                </ul>
              `
              : html`
                <${Empty} level=${3} icon="search" title="No subaccount matches">
                  The search looks at names, numbers and pools.
                <//>
              `
          }
        `;
      }}
    <//>
  `;
}

function Row({ each, onChange, onEdit }) {
  const held = each.compliance_status !== each.status && each.compliance_status !== "active";
  const [text, tone, icon] = STATES[held ? each.compliance_status : each.status];
  const hidden = html`<span class="visually-hidden"> ${each.name}</span>`;
  const details = [
    each.ip_pool && `sends by ${each.ip_pool}`,
    each.options.open_tracking_disabled && "without open tracking",
    held && "by the operator",
  ].filter(Boolean);
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="row wraps">
          <span class="strong clip">${each.name}</span>
          <${Badge} tone=${tone} icon=${icon}>${text}<//>
        </div>
        <div>
          <${Copyable} text=${String(each.id)} />
          ${details.length > 0 && ` ${details.join(", ")}`}
        </div>
      </div>
      <${RowActions} row=${each} onEdit=${onEdit} hidden=${hidden} onChange=${onChange} />
    </li>
  `;
}

function RowActions({ row, onEdit, hidden, onChange }) {
  return html`
    <span class="row wraps">
      <${Button}
        kind="small"
        onClick=${() => {
          subaccount.value = String(row.id);
        }}
      >
        Act for it<span class="visually-hidden">: ${row.name}</span>
      <//>
      ${
        may("subaccount/manage") &&
        html`
          <${Button} kind="small" icon="pencil" onClick=${onEdit}>Change${hidden}<//>
          ${
            row.status === "active" &&
            html`
              <${Button} kind="small" icon="pause" onClick=${() => onChange("suspended")}>
                Suspend${hidden}
              <//>
            `
          }
          ${
            row.status === "suspended" &&
            html`
              <${Button} kind="small" icon="play" onClick=${() => onChange("active")}>
                Activate${hidden}
              <//>
            `
          }
          ${
            row.status !== "terminated" &&
            html`
              <${Button} kind="small danger" icon="ban" onClick=${() => onChange("terminated")}>
                Terminate${hidden}
              <//>
            `
          }
        `
      }
    </span>
  `;
}

function SubaccountForm({ former, onClose, onSaved }) {
  const [name, setName] = useState(former?.name ?? "");
  const [pool, setPool] = useState(former?.ip_pool ?? "");
  const [options, setOptions] = useState(former?.options ?? {});
  const [withKey, setWithKey] = useState(!former);
  const [label, setLabel] = useState("");
  const [addresses, setAddresses] = useState("");
  const [end, setEnd] = useState("");
  const [chosen, setChosen] = useState(new Set());
  const pools = useResource((signal) =>
    may("ip_pools/view") ? get("api/v1/ip-pools", undefined, { signal }) : { results: [] },
  );
  const known = (pools.data?.results ?? []).map((each) => [each.id, each.name]);
  const fields = { name, pool, options, withKey, label, chosen, addresses, end };
  const save = saveAction(former, fields, onSaved);
  const option = (key) => ({
    checked: Boolean(options[key]),
    onChange: (on) => setOptions({ ...options, [key]: on }),
  });
  const incomplete = !name.trim() || (withKey && (!label.trim() || !chosen.size));
  return html`
    <${Dialog}
      wide
      title=${former ? "Change subaccount" : "Add subaccount"}
      submit=${former ? "Save" : "Add"}
      disabled=${incomplete}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${NameFields}
        name=${name}
        setName=${setName}
        pool=${pool}
        setPool=${setPool}
        known=${known}
      />
      <${OptionFields} option=${option} />
      ${former && html`<${LastChanged} resource="subaccounts" id=${former.id} />`}
      ${!former && html`<${MakeKeyField} withKey=${withKey} setWithKey=${setWithKey} />`}
      ${
        withKey &&
        html`
          <${KeyFields}
            label=${label}
            setLabel=${setLabel}
            addresses=${addresses}
            setAddresses=${setAddresses}
            end=${end}
            setEnd=${setEnd}
            chosen=${chosen}
            setChosen=${setChosen}
          />
        `
      }
    <//>
  `;
}

function MakeKeyField({ withKey, setWithKey }) {
  return html`
    <${CheckField}
      toggle
      label="Make an API key for it"
      hint="With this key a program, or a person in the console, sees this subaccount only."
      checked=${withKey}
      onChange=${setWithKey}
    />
  `;
}

function KeyFields({ label, setLabel, addresses, setAddresses, end, setEnd, chosen, setChosen }) {
  return html`
    <div class="form-grid">
      <${TextField} label="Name of the key" value=${label} onInput=${setLabel} />
      <${AddressesField} value=${addresses} onInput=${setAddresses} />
      <${EndField} value=${end} onInput=${setEnd} />
    </div>
    <${KeyGrants} chosen=${chosen} onChange=${setChosen} ofSubaccount />
  `;
}

function saveAction(former, fields, onSaved) {
  const { name, pool, options, withKey, label, chosen, addresses, end } = fields;
  return async () => {
    const body = { name, ip_pool: pool, options };
    if (former) {
      await put(`${PATH}/${former.id}`, body);
      return onSaved("");
    }
    const key = withKey
      ? {
          key_label: label,
          key_grants: [...chosen],
          key_valid_ips: addressesOf(addresses),
          key_expires_at: endOf(end),
        }
      : {};
    const { results } = await post(PATH, { ...body, setup_api_key: withKey, ...key });
    return onSaved(results.key);
  };
}

function NameFields({ name, setName, pool, setPool, known }) {
  return html`
    <div class="form-grid">
      <${TextField} label="Name" maxlength="64" value=${name} onInput=${setName} />
      <${SelectField}
        label="IP pool"
        value=${pool}
        onChange=${setPool}
        hint="All of its mail leaves by this pool."
        options=${[
          ["", "Any"],
          ...known,
          ...(pool && !known.some(([id]) => id === pool) ? [[pool, pool]] : []),
        ]}
      />
    </div>
  `;
}

function OptionFields({ option }) {
  return html`
    <fieldset class="checks wide-checks">
      <legend class="label">Options</legend>
      <${CheckField}
        label="No open tracking"
        hint="Its mail is sent without it, whatever a message asks for."
        ...${option("open_tracking_disabled")}
      />
    </fieldset>
  `;
}
