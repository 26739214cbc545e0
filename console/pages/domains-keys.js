// The DKIM keys of a sending domain: its own, which signs by default, and further ones.
import { html, useState } from "../vendor/preact.js";
import { get, post, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Badge, Button, Copyable, TextField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded, toast } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { canMakeKeys, recordOf } from "../core/key-pair.js";
import { isComplete, keyBody, KeyFields, NEW_KEY } from "./domains-key-fields.js";
import { publish, Record, STATES } from "./domains-records.js";
import { Rotation } from "./domains-rotation.js";

export function Keys({ path, domain, isLocal, manages, reload }) {
  const keys = useResource((signal) => get(`${path}/dkim-keys`, undefined, { signal }), [path]);
  const [form, setForm] = useState("");
  const saved = () => Promise.all([keys.reload(), reload()]);
  const own = domain.dkim;
  const actions =
    manages &&
    html`
      <span class="row wraps">
        <${Button} kind="small" icon="pencil" onClick=${() => setForm("own")}>
          ${own ? "Change" : "Add"}
          <span class="visually-hidden"> its own key</span>
        <//>
        ${
          own &&
          canMakeKeys() &&
          html`
            <${Button} kind="small primary" icon="rotate-ccw" onClick=${() => setForm("rotation")}>
              Rotate
            <//>
          `
        }
      </span>
    `;
  return html`
    <div class="stack">
      <${OwnKey} actions=${actions} own=${own} domain=${domain} />
      <${FurtherKeys}
        path=${path}
        manages=${manages}
        keys=${keys}
        setForm=${setForm}
        isLocal=${isLocal}
      />
      ${
        form === "further" &&
        html`<${FurtherForm} path=${path} onClose=${() => setForm("")} onSaved=${saved} />`
      }
      ${
        form === "own" &&
        html`
          <${OwnForm} path=${path} former=${own} onClose=${() => setForm("")} onSaved=${saved} />
        `
      }
      ${
        form === "rotation" &&
        html`
          <${Rotation}
            path=${path}
            isLocal=${isLocal}
            onClose=${() => {
              setForm("");
              saved();
            }}
          />
        `
      }
    </div>
  `;
}

function OwnKey({ actions, own, domain }) {
  return html`
    <${Card} title="Its own key" actions=${actions}>
      ${
        own
          ? html`<${KeyFacts} dkim=${{ ...own, dkim_status: domain.status.dkim_status }} />`
          : html`
            <p class="soft">
              The domain has no key: mail is signed by the key of its IP pool, if that has one.
            </p>
          `
      }
    <//>
  `;
}

function FurtherKeys({ path, manages, keys, setForm, isLocal }) {
  return html`
    <${Card}
      title="Further keys"
      flush
      actions=${html`
        <span class="row wraps">
          <${CurlButton} path="${path}/dkim-keys" />
          ${
            manages &&
            html`
              <${Button} kind="small" icon="plus" onClick=${() => setForm("further")}>Add key<//>
            `
          }
        </span>
      `}
    >
      <${Loaded} resource=${keys}>
        ${({ results }) =>
          results.length
            ? html`
              <ul class="stack" role="list" aria-label="Further keys">
                ${results.map(
                  (each) => html`
                    <${Further}
                      key=${each.id}
                      path=${path}
                      further=${each}
                      isLocal=${isLocal}
                      manages=${manages}
                      reload=${keys.reload}
                    />
                  `,
                )}
              </ul>
            `
            : html`
              <${Empty} level=${3} icon="key" title="No further key">
                A transmission signs with one by <code>options.dkim_key</code>: for a brand of its
                own, or to try a new key before it signs everything.
              <//>
            `}
      <//>
    <//>
  `;
}

function KeyFacts({ dkim }) {
  const [text, tone, icon] = STATES[dkim.dkim_status] ?? STATES.unverified;
  return html`
    <dl class="facts">
      <dt>State</dt>
      <dd><${Badge} tone=${tone} icon=${icon}>${text}<//></dd>
      <dt>Selector</dt>
      <dd><${Copyable} text=${dkim.selector} /></dd>
      <dt>Signing domain</dt>
      <dd class="mono">${dkim.signing_domain}</dd>
      <dt>Signed headers</dt>
      <dd class="mono wrap">${dkim.headers}</dd>
    </dl>
  `;
}

function Further({ path, further, isLocal, manages, reload }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const record = recordOf(further);
  const own = `${path}/dkim-keys/${encodeURIComponent(further.id)}`;
  const verify = async () => {
    setBusy(true);
    await attempt(async () => {
      const { results } = await post(`${own}/verify`, {});
      setProblem(results.dns?.dkim_error ?? "");
      toast(
        results.dkim_status === "valid" ? "The key may sign" : "Its record is not there yet",
        results.dkim_status === "valid" ? "good" : "bad",
      );
      await reload();
    });
    setBusy(false);
  };
  const destroy = async () => {
    const text =
      "A transmission that names it is refused from then on. Its record in the DNS is needed " +
      "until the mail that it signed has arrived.";
    if (await confirm({ title: `Delete the key ${further.id}?`, text }))
      await attempt(() => remove(own).then(reload), "Deleted");
  };
  const hidden = html`<span class="visually-hidden"> ${further.id}</span>`;
  return html`
    <li class="pane-note stack">
      <div class="row wraps">
        <span class="strong grow">
          ${further.id} <span class="soft">since <${Time} at=${further.creation_time} /></span>
        </span>
        ${
          manages &&
          html`
            <${Button} kind="small" icon="refresh-cw" busy=${busy} onClick=${verify}>
              Verify${hidden}
            <//>
            <${Button} kind="small danger" icon="trash-2" onClick=${destroy}>Delete${hidden}<//>
          `
        }
      </div>
      <${Record}
        bare
        record=${record}
        title="${further.id}"
        problem=${problem}
        onPublish=${
          isLocal &&
          manages &&
          (async (each) => {
            if (await publish(each)) await verify();
          })
        }
      />
    </li>
  `;
}

function FurtherForm({ path, onClose, onSaved }) {
  const [id, setId] = useState("");
  const [key, setKey] = useState(NEW_KEY);
  const save = async () => {
    const length = key.source === "generate" ? { dkim_key_length: Number(key.bits) } : {};
    await post(`${path}/dkim-keys`, { id: id.trim(), ...length, ...keyBody(key) });
    await onSaved();
  };
  return html`
    <${Dialog}
      title="Add key"
      submit="Add"
      disabled=${!id.trim() || !isComplete(key)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField}
        label="Id"
        spellcheck="false"
        autocapitalize="none"
        maxlength="64"
        value=${id}
        onInput=${setId}
        hint="Transmissions name the key by it: letters, digits, - and _."
      />
      <${KeyFields} value=${key} onChange=${setKey} />
    <//>
  `;
}

function OwnForm({ path, former, onClose, onSaved }) {
  const { selector = "", signing_domain = "", headers = "" } = former ?? {};
  const [key, setKey] = useState({
    ...NEW_KEY,
    source: former ? "keep" : "own",
    selector,
    signing_domain,
    headers,
  });
  const save = async () => {
    await put(path, { dkim: keyBody(key) });
    await onSaved();
  };
  return html`
    <${Dialog}
      title=${former ? "Change its own key" : "Add its own key"}
      submit="Save"
      disabled=${!isComplete(key)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <p class="soft">
        With another key or selector, mail is not signed until the new record is published and
        verified. Rotate keeps it signed.
      </p>
      <${KeyFields} value=${key} onChange=${setKey} former=${former} />
    <//>
  `;
}
