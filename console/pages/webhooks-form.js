// The form of a webhook: where it posts, which events, and how it shows who it is.
import { html, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Button, CheckField, SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded } from "../parts/feedback.js";

const AUTH = [["none", "None"], ["basic", "User name and password"], ["oauth2", "OAuth 2.0"]];

/** Add a webhook, or change `webhook`. `onSaved` gets its id. */
export function WebhookForm({ webhook, onClose, onSaved }) {
  const [name, setName] = useState(webhook?.name ?? "");
  const [target, setTarget] = useState(webhook?.target ?? "");
  const [events, setEvents] = useState(new Set(webhook?.events ?? []));
  const [active, setActive] = useState(webhook?.active ?? true);
  const [auth, setAuth] = useState(webhook?.auth_type ?? "none");
  const [user, setUser] = useState(webhook?.auth_credentials?.username ?? "");
  const [password, setPassword] = useState(webhook?.auth_credentials?.password ?? "");
  const [tokenUrl, setTokenUrl] = useState(webhook?.auth_request_details?.url ?? "");
  const [tokenBody, setTokenBody] = useState(JSON.stringify(webhook?.auth_request_details?.body ?? {}, null, 2));
  const documentation = useResource((signal) => get("api/v1/webhooks/events/documentation", undefined, { signal }));

  const save = async () => {
    const body = { name, target, events: [...events], active, auth_type: auth };
    if (auth === "basic") body.auth_credentials = { username: user, password };
    if (auth === "oauth2") body.auth_request_details = { url: tokenUrl, body: parsed(tokenBody) };
    const { results } = webhook ? await put(`api/v1/webhooks/${webhook.id}`, body) : await post("api/v1/webhooks", body);
    onSaved(results.id);
  };
  const toggle = (names, on) => setEvents((former) => {
    const changed = new Set(former);
    for (const each of names) changed[on ? "add" : "delete"](each);
    return changed;
  });
  return html`<${Dialog} wide title=${webhook ? "Change webhook" : "Add webhook"} submit=${webhook ? "Save" : "Test and add"} disabled=${!name || !target || !events.size} onClose=${onClose} onSubmit=${save}>
    <div class="form-grid"><${TextField} label="Name" value=${name} onInput=${setName} />
      <${TextField} label="Target" hint="A test batch is posted here before anything is stored." type="url" placeholder="https://example.com/events" value=${target} onInput=${setTarget} spellcheck="false" /></div>
    <${Loaded} resource=${documentation}>${({ results }) => Object.values(results).map((group) => {
      const names = Object.keys(group.events);
      const every = names.every((each) => events.has(each));
      return html`<fieldset class="checks" key=${group.display_name}><legend>${group.display_name} <${Button} kind="ghost small" onClick=${() => toggle(names, !every)}>${every ? "None" : "All"}<span class="visually-hidden"> of ${group.display_name}</span><//></legend>
        ${names.map((each) => html`<${CheckField} key=${each} label=${group.events[each].display_name} checked=${events.has(each)} onChange=${(on) => toggle([each], on)} />`)}</fieldset>`;
    })}<//>
    <${SelectField} label="Authentication" value=${auth} options=${AUTH} onChange=${setAuth} />
    ${auth === "basic" && html`<div class="form-grid"><${TextField} label="User name" autocomplete="off" value=${user} onInput=${setUser} /><${TextField} label="Password" type="password" autocomplete="new-password" value=${password} onInput=${setPassword} /></div>`}
    ${auth === "oauth2" && html`<${TextField} label="Token server" type="url" value=${tokenUrl} onInput=${setTokenUrl} /><${TextField} label="What is sent to it, as JSON" multiline class="mono" value=${tokenBody} onInput=${setTokenBody} />`}
    <${CheckField} toggle label="Active" hint="An inactive webhook gets no new events." checked=${active} onChange=${setActive} />
  <//>`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`What is sent to the token server is no JSON: ${error.message}`);
  }
}
