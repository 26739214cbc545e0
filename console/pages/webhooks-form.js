// The form of a webhook: where it posts, whose and which events, and how it shows who it is.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { shownSubaccount, subaccountName, subaccounts } from "../core/service.js";
import {
  AUTH,
  bodyOf,
  EVERYBODY,
  faultsOf,
  fieldsOf,
  idsOf,
  MOST_EXCEPTIONS,
  sourceName,
  webhookPath,
  WEBHOOKS,
} from "../core/webhooks.js";
import { Button, CheckField, SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded } from "../parts/feedback.js";
import { HeaderFields } from "./webhooks-headers.js";

/** Add a webhook, or change `webhook`. `onSaved` gets its id. */
export function WebhookForm({ webhook, onClose, onSaved }) {
  const [fields, setFields] = useState(() => fieldsOf(webhook));
  const [faults, setFaults] = useState(/** @type {Record<string, string>} */ ({}));
  const set = (name) => (value) => {
    setFields((former) => ({ ...former, [name]: value }));
    setFaults(({ [name]: _, ...others }) => others);
  };
  const text = (name) => ({ value: fields[name], onInput: set(name), problem: faults[name] });
  const choice = (name) => ({ value: fields[name], onChange: set(name), problem: faults[name] });
  // The first field with a fault may be out of sight: the form is longer than most windows
  useEffect(() => {
    if (Object.keys(faults).length)
      document
        .querySelector('dialog[open] [aria-invalid="true"], dialog[open] .problem')
        ?.scrollIntoView({ block: "center" });
  }, [faults]);

  const save = saveAction({ setFaults, fields, webhook, onSaved });
  const source = Number(fields.subaccount_id);
  return html`
    <${Dialog}
      wide
      title=${webhook ? "Change webhook" : "Add webhook"}
      submit=${webhook ? "Save" : "Test and add"}
      disabled=${!fields.name || !fields.target || !fields.events.size}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TargetFields} text=${text} />
      <${Events} events=${fields.events} problem=${faults.events} onChange=${set("events")} />
      <${SourceFields}
        webhook=${webhook}
        choice=${choice}
        source=${source}
        fields=${fields}
        text=${text}
      />
      <${SelectField} label="Authentication" options=${AUTH} ...${choice("auth_type")} />
      ${fields.auth_type === "basic" && html`<${LoginFields} text=${text} />`}
      ${fields.auth_type === "oauth2" && html`<${OAuthFields} text=${text} />`}
      <${HeaderFields}
        rows=${fields.custom_headers}
        problem=${faults.custom_headers}
        onChange=${set("custom_headers")}
      />
      <${TokenField} text=${text} />
      <${CheckField}
        toggle
        label="Active"
        hint="An inactive webhook gets no new events."
        checked=${fields.active}
        onChange=${set("active")}
      />
    <//>
  `;
}

export function OAuthFields({ text }) {
  return html`
    <${TextField} label="Token server" type="url" ...${text("url")} />
    <${TextField} label="What is sent to it, as JSON" multiline class="mono" ...${text("body")} />
  `;
}

export function TokenField({ text }) {
  return html`
    <${TextField}
      label="Token"
      optional
      hint=${
        "Sent with each batch in a header of its own. Deprecated: use an authentication " +
        "or a header instead."
      }
      type="password"
      autocomplete="off"
      ...${text("auth_token")}
    />
  `;
}

function TargetFields({ text }) {
  return html`
    <div class="form-grid">
      <${TextField} label="Name" ...${text("name")} />
      <${TextField}
        label="Target"
        hint="A test batch is posted here before anything is stored."
        type="url"
        placeholder="https://example.com/events"
        spellcheck="false"
        ...${text("target")}
      />
    </div>
  `;
}

function LoginFields({ text }) {
  return html`
    <div class="form-grid">
      <${TextField} label="User name" autocomplete="off" ...${text("username")} />
      <${TextField}
        label="Password"
        type="password"
        autocomplete="new-password"
        ...${text("password")}
      />
    </div>
  `;
}

function SourceFields({ webhook, choice, source, fields, text }) {
  return html`
    <div class="form-grid">
      ${
        webhook &&
        shownSubaccount() in { "": 1, 0: 1 } &&
        html`
          <${SelectField}
            label="Events of"
            options=${sources(webhook)}
            ...${choice("subaccount_id")}
          />
        `
      }
      ${
        (webhook || shownSubaccount() === "") &&
        source === EVERYBODY &&
        html`
          <${TextField}
            label="Except subaccounts"
            optional
            hint=${exceptionsHint(fields.exception_subaccounts)}
            placeholder="12, 31"
            spellcheck="false"
            autocomplete="off"
            ...${text("exception_subaccounts")}
          />
        `
      }
    </div>
  `;
}

function saveAction({ setFaults, fields, webhook, onSaved }) {
  return async () => {
    setFaults({});
    try {
      const body = bodyOf(fields, webhook);
      const { results } = webhook
        ? await put(webhookPath(webhook.id), body)
        : await post(WEBHOOKS, body);
      onSaved(results.id);
    } catch (error) {
      const texts = faultsOf(error);
      setFaults(texts);
      const count = new Set(Object.values(texts)).size;
      throw count
        ? new Error(
            `Not saved: ${count === 1 ? "a field above needs" : `${count} fields above need`} ` +
              `a correction.`,
          )
        : error;
    }
  };
}

function Events({ events, problem, onChange }) {
  const documentation = useResource((signal) =>
    get(`${WEBHOOKS}/events/documentation`, undefined, { signal }),
  );
  const toggle = (names, on) => {
    const changed = new Set(events);
    for (const each of names) changed[on ? "add" : "delete"](each);
    onChange(changed);
  };
  return html`
    <${Loaded} resource=${documentation}>
      ${({ results }) =>
        Object.values(results).map((group) => {
          const names = Object.keys(group.events).filter((each) => group.events[each].produced);
          if (!names.length) return null;
          const every = names.every((each) => events.has(each));
          return html`
            <fieldset class="checks" key=${group.display_name}>
              <legend>
                ${group.display_name}
                ${" "}
                <${Button} kind="ghost small" onClick=${() => toggle(names, !every)}>
                  ${every ? "None" : "All"}
                  <span class="visually-hidden"> of ${group.display_name}</span>
                <//>
              </legend>
              ${names.map(
                (each) => html`
                  <${CheckField}
                    key=${each}
                    label=${group.events[each].display_name}
                    checked=${events.has(each)}
                    onChange=${(on) => toggle([each], on)}
                  />
                `,
              )}
            </fieldset>
          `;
        })}
    <//>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  `;
}

/** Whose events a webhook of the account may get; its present source is one of them. */
function sources(webhook) {
  const ids = new Set([
    EVERYBODY,
    0,
    ...subaccounts.value.map((each) => each.id),
    webhook.subaccount_id,
  ]);
  return [...ids].map((id) => [String(id), sourceName(id)]);
}

function exceptionsHint(text) {
  const names = idsOf(text)
    .filter((each) => typeof each === "number")
    .map(subaccountName);
  return (
    `Ids of at most ${MOST_EXCEPTIONS} subaccounts whose events are left out, ` +
    `comma-separated.${names.length ? ` Now: ${names.join(", ")}.` : ""}`
  );
}
