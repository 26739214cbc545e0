// Add a domain: to send from, or for links.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go } from "../core/router.js";
import { may } from "../core/service.js";
import { CheckField, SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { KINDS } from "./domains.js";
import { isComplete, keyBody, KeyFields, NEW_KEY } from "./domains-key-fields.js";

const HINTS = { inbound: "One without mailboxes: all its mail comes in here." };
const NO_KEY = ["none", "None: an IP pool's key signs"];

export function AddDomain({ kind, onClose }) {
  const [domain, setDomain] = useState("");
  const [secure, setSecure] = useState(false);
  const [shared, setShared] = useState(false);
  const [tracking, setTracking] = useState("");
  const [key, setKey] = useState(NEW_KEY);
  const { path, name, example } = KINDS[kind];
  const sending = sendingBody(key, tracking, shared);
  const save = async () => {
    const { results } = await post(path, {
      domain: domain.trim(),
      ...(kind === "sending" ? sending() : kind === "tracking" ? { secure } : {}),
    });
    go(["domains", kind, results.domain]);
  };
  return html`
    <${Dialog}
      title="Add ${name}"
      submit="Add"
      disabled=${!domain.trim() || !isComplete(key)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField}
        label="Domain"
        placeholder=${example}
        hint=${HINTS[kind]}
        value=${domain}
        onInput=${setDomain}
        spellcheck="false"
        autocapitalize="none"
      />
      ${
        kind === "tracking" &&
        html`
          <${CheckField}
            label="Links begin with https"
            hint="A server with a certificate for this domain must stand before the service."
            checked=${secure}
            onChange=${setSecure}
          />
        `
      }
      ${
        kind === "sending" &&
        html`
            <${TrackingDomain} value=${tracking} onChange=${setTracking} />
            <${CheckField}
              label="Subaccounts may send from it"
              checked=${shared}
              onChange=${setShared}
            />
            <${KeyDetails} dkim=${key} onChange=${setKey} />
          `
      }
    <//>
  `;
}

function KeyDetails({ dkim, onChange }) {
  return html`
    <details>
      <summary>DKIM key</summary>
      <div class="stack pane-note">
        <${KeyFields} value=${dkim} onChange=${onChange} sources=${[NO_KEY]} />
      </div>
    </details>
  `;
}

function sendingBody(key, tracking, shared) {
  return () => {
    const dkim = keyBody(key);
    return {
      ...(key.source === "none" ? { generate_dkim: false } : {}),
      ...(key.source === "generate" ? { dkim_key_length: Number(key.bits) } : {}),
      ...(key.source !== "none" && Object.keys(dkim).length ? { dkim } : {}),
      ...(tracking ? { tracking_domain: tracking } : {}),
      ...(shared ? { shared_with_subaccounts: true } : {}),
    };
  };
}

/**
 * The domain that tracked links of a sending domain lead through; only verified ones can be chosen.
 */
export function TrackingDomain({ value, onChange, ...rest }) {
  const { data } = useResource((signal) =>
    may("tracking_domains/view")
      ? get(KINDS.tracking.path, undefined, { signal })
      : { results: [] },
  );
  const names = (data?.results ?? [])
    .filter((each) => each.status.verified)
    .map((each) => each.domain);
  const options = [...new Set(value ? [value, ...names] : names)].map((each) => [each, each]);
  return html`
    <${SelectField}
      label="Tracking domain"
      value=${value}
      onChange=${onChange}
      options=${[["", "The default one"], ...options]}
      hint="Tracked links and pixels of its mail lead through it. It must be verified."
      ...${rest}
    />
  `;
}
