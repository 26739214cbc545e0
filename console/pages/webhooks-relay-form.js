// The form of a relay webhook: whose mail it gets, where it posts, and how it shows who it is.
import { html, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { AUTH, faultsOf, fieldsOf, KINDS, relayBodyOf } from "../core/webhooks.js";
import { SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Notice } from "../parts/feedback.js";
import { OAuthFields, TokenField } from "./webhooks-form.js";
import { HeaderFields } from "./webhooks-headers.js";

const DOMAINS = "api/v1/inbound-domains";

/** Add a relay webhook, or change `webhook`. `onSaved` gets its id. */
export function RelayForm({ webhook, onClose, onSaved }) {
  const [fields, setFields] = useState(() => ({
    ...fieldsOf(webhook),
    domain: webhook?.match.domain ?? "",
  }));
  const [faults, setFaults] = useState(/** @type {Record<string, string>} */ ({}));
  const set = (name) => (value) => {
    setFields((former) => ({ ...former, [name]: value }));
    setFaults(({ [name]: _, ...others }) => others);
  };
  const text = (name) => ({ value: fields[name], onInput: set(name), problem: faults[name] });
  const save = saveAction({ fields, webhook, setFaults, onSaved });
  return html`
    <${Dialog}
      wide
      title=${webhook ? "Change relay webhook" : "Add relay webhook"}
      submit=${webhook ? "Save" : "Test and add"}
      disabled=${!fields.target || !fields.domain}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${DomainField} value=${fields.domain} onChange=${set("domain")} problem=${faults.match} />
      <div class="form-grid">
        <${TextField} label="Name" optional ...${text("name")} />
        <${TextField}
          label="Target"
          hint="Each message is posted here. An example is posted first."
          type="url"
          placeholder="https://example.com/mail"
          spellcheck="false"
          ...${text("target")}
        />
      </div>
      <${SelectField}
        label="Authentication"
        options=${AUTH.filter(([each]) => each !== "basic")}
        value=${fields.auth_type}
        onChange=${set("auth_type")}
        problem=${faults.auth_type}
      />
      ${fields.auth_type === "oauth2" && html`<${OAuthFields} text=${text} />`}
      <${HeaderFields}
        rows=${fields.custom_headers}
        problem=${faults.custom_headers}
        onChange=${set("custom_headers")}
      />
      <${TokenField} text=${text} />
    <//>
  `;
}

function saveAction({ fields, webhook, setFaults, onSaved }) {
  return async () => {
    setFaults({});
    try {
      const body = relayBodyOf(fields, webhook);
      const { path } = KINDS.relay;
      const { results } = webhook
        ? await put(`${path}/${encodeURIComponent(webhook.id)}`, body)
        : await post(path, body);
      onSaved(results.id);
    } catch (error) {
      setFaults(faultsOf(error));
      throw error;
    }
  };
}

/** The inbound domains that have no relay webhook yet: each has at most one. */
function DomainField({ value, onChange, problem }) {
  const lists = may("inbound_domains/manage");
  const { data } = useResource((signal) =>
    lists ? get(DOMAINS, undefined, { signal }) : { results: [] },
  );
  const [own] = useState(value);
  const free = (data?.results ?? []).filter((each) => !each.relay_webhook_id);
  const names = [...new Set([...(own ? [own] : []), ...free.map((each) => each.domain)])];
  if (!lists)
    return html`
      <${TextField}
        label="Inbound domain"
        value=${value}
        onInput=${onChange}
        problem=${problem}
        spellcheck="false"
        autocapitalize="none"
      />
    `;
  return html`
    ${
      data &&
      !names.length &&
      html`
        <${Notice} tone="warn" icon="alert-triangle">
          There is no inbound domain without a relay webhook. Add one under Domains first.
        <//>
      `
    }
    <${SelectField}
      label="Inbound domain"
      value=${value}
      onChange=${onChange}
      problem=${problem}
      options=${[["", "Choose a domain"], ...names.map((each) => [each, each])]}
    />
  `;
}
