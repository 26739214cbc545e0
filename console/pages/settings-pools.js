// IP pools, their sending IPs, and how far each IP is in its warm-up.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Button, Copyable, SelectField, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { Card } from "../parts/page.js";
import { IpForm, SendingIp, WarmupDays } from "./settings-ips.js";

const PATH = "api/v1/ip-pools";
const SHARED = "shared pool";

/** Only the account manages pools; a subaccount may see them. */
const manages = () => may("ip_pools/manage") && ["", "0"].includes(subaccount.value);

export function Pools() {
  const resource = useResource((signal) => get(PATH, undefined, { signal }));
  const [form, setForm] = useState(null);
  const [ip, setIp] = useState(null);
  const [days, setDays] = useState("");
  const destroy = deleteAction(resource);
  return html`
    <div class="stack">
      <${Head} setForm=${setForm} />
      <${Loaded} resource=${resource}>
        ${({ results: pools }) => html`
          ${pools.map(
            (pool) => html`
              <${Pool}
                key=${pool.id}
                pool=${pool}
                pools=${pools}
                onEdit=${() => setForm(pool)}
                onDelete=${() => destroy(pool)}
                onIp=${setIp}
                onDays=${setDays}
              />
            `,
          )}
          ${
            form &&
            html`
              <${PoolForm}
                key=${form.id ?? "new"}
                former=${form.id ? form : null}
                pools=${pools}
                onClose=${() => setForm(null)}
                onSaved=${resource.reload}
              />
            `
          }
          ${
            ip &&
            html`
              <${IpForm}
                key=${ip.external_ip}
                ip=${ip}
                pools=${pools}
                onClose=${() => setIp(null)}
                onSaved=${resource.reload}
              />
            `
          }
        `}
      <//>
      ${days && html`<${WarmupDays} address=${days} onClose=${() => setDays("")} />`}
    </div>
  `;
}

function Head({ setForm }) {
  return html`
    <div class="row wraps">
      <span class="grow soft">Mail of a pool leaves by its IPs.</span>
      <${CurlButton} path=${PATH} />
      ${
        manages() &&
        html`
          <${Button} kind="primary small" icon="plus" onClick=${() => setForm({})}>Add IP pool<//>
        `
      }
    </div>
  `;
}

function deleteAction(resource) {
  return async (pool) => {
    if (
      await confirm({
        title: `Delete ${pool.name}?`,
        text:
          "Its IPs move to the default pool. A pool by which a subaccount or a scheduled " +
          "transmission sends stays.",
        typed: pool.ips.length ? pool.name : undefined,
      })
    )
      await attempt(() => remove(`${PATH}/${pool.id}`).then(resource.reload), "Deleted");
  };
}

function Pool({ pool, pools, onEdit, onDelete, onIp, onDays }) {
  const nameOf = (id) => pools.find((each) => each.id === id)?.name ?? id;
  const hidden = html`<span class="visually-hidden"> ${pool.name}</span>`;
  const facts = [
    [
      "Overflow during warm-up",
      pool.auto_warmup_overflow_pool && nameOf(pool.auto_warmup_overflow_pool),
    ],
    ["Signing domain", pool.signing_domain],
    ["Signing domain for feedback loops", pool.fbl_signing_domain],
  ].filter(([, value]) => value);
  const actions = html`
    <span class="row wraps">
      <${Copyable} text=${pool.id} />
      ${
        manages() &&
        pool.id !== "default" &&
        html`
          <${Button} kind="small" icon="pencil" onClick=${onEdit}>Change${hidden}<//>
          <${Button} kind="small danger" icon="trash-2" onClick=${onDelete}>Delete${hidden}<//>
        `
      }
    </span>
  `;
  return html`
    <${Card} title=${pool.name} flush actions=${actions}>
      ${
        facts.length > 0 &&
        html`
          <dl class="facts small pane-note">
            ${facts.map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
          </dl>
        `
      }
      ${
        pool.ips.length
          ? html`
            <ul class="items" aria-label="IPs of ${pool.name}">
              ${pool.ips.map(
                (ip) => html`
                  <${SendingIp}
                    key=${ip.external_ip}
                    ip=${ip}
                    onDays=${() => onDays(ip.external_ip)}
                    onEdit=${manages() && (() => onIp({ ...ip, pool: pool.id }))}
                  />
                `,
              )}
            </ul>
          `
          : html`
            <${Empty} level=${3} icon="network" title="No sending IP">
              Mail of this pool leaves by the deployment's own transport. The operator adds sending
              IPs: <code>python -m infrastructure.admin add-sending-ip</code>
            <//>
          `
      }
    <//>
  `;
}

function PoolForm({ former, pools, onClose, onSaved }) {
  const [name, setName] = useState(former?.name ?? "");
  const [signing, setSigning] = useState(former?.signing_domain ?? "");
  const [loops, setLoops] = useState(former?.fbl_signing_domain ?? "");
  const [overflow, setOverflow] = useState(former?.auto_warmup_overflow_pool ?? "");
  // A pool with an overflow pool cannot be one, nor can the shared pool be of use to itself
  const others = pools
    .filter((each) => each.id !== former?.id && !each.auto_warmup_overflow_pool)
    .map((each) => [each.id, each.name]);
  const save = saveAction({ name, signing, loops, overflow, former, onSaved });
  return html`
    <${Dialog}
      title=${former ? "Change IP pool" : "Add IP pool"}
      submit=${former ? "Save" : "Add"}
      disabled=${!name.trim()}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField}
        label="Name"
        maxlength="128"
        value=${name}
        onInput=${setName}
        hint=${former ? `Its id stays ${former.id}.` : "Its id is made from the name."}
      />
      <${SelectField}
        label="Overflow pool"
        value=${overflow}
        onChange=${setOverflow}
        hint="Takes what a warming IP may not send today."
        options=${[["", "None"], ...others, [SHARED, "Shared pool"]]}
      />
      <${TextField}
        label="Signing domain"
        optional
        spellcheck="false"
        value=${signing}
        onInput=${setSigning}
        hint="Signs mail whose own domain has no DKIM key."
      />
      <${TextField}
        label="Signing domain for feedback loops"
        optional
        spellcheck="false"
        value=${loops}
        onInput=${setLoops}
        hint="Only for providers that need DKIM for their feedback loop."
      />
      ${former && html`<${LastChanged} resource="ip-pools" id=${former.id} />`}
    <//>
  `;
}

function saveAction({ name, signing, loops, overflow, former, onSaved }) {
  return async () => {
    const fields = {
      name,
      signing_domain: signing.trim(),
      fbl_signing_domain: loops.trim(),
      auto_warmup_overflow_pool: overflow,
    };
    // An empty text removes a field; a new pool has nothing to remove
    const body = former
      ? fields
      : Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
    await (former ? put(`${PATH}/${former.id}`, body) : post(PATH, body));
    onSaved();
  };
}
