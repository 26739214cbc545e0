// How to send, ready to paste, in the ways that the key or person may use. In a key's view the key
// is in the examples; a person is signed in without one.
import { html, useState } from "../vendor/preact.js";
import { base } from "../core/api.js";
import { exampleOf, LANGUAGES } from "../core/examples.js";
import { href } from "../core/router.js";
import { local, may, outgoing } from "../core/service.js";
import { key, subaccount } from "../core/session.js";
import { Button } from "../parts/controls.js";
import { Code } from "../parts/code.js";
import { Card } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { Behaviours } from "./behaviours.js";

const MESSAGE = {
  content: { from: "hello@example.test", subject: "Hello", text: "It works." },
  recipients: [{ address: "you@example.com" }],
};
/** `[[id, name, text], ...]`: the same message in each way that the key may send it. */
function ways(sender) {
  // Acting for a subaccount: the header says so, and in SMTP the name of the user
  const id = subaccount.value === "0" ? "" : subaccount.value;
  /** @type {Parameters<typeof exampleOf>[1]} */
  const call = {
    method: "POST",
    path: "api/v1/transmissions",
    headers: id ? { "X-SVC-SUBACCOUNT": id } : {},
    body: { ...MESSAGE, content: { ...MESSAGE.content, from: sender } },
    key: key.value || undefined,
  };
  const byApi = LANGUAGES.map(([language, name]) => [language, name, exampleOf(language, call)]);
  return [
    ...(may("transmissions/modify") ? byApi : []),
    ...(may("smtp/inject") ? [["smtp", "SMTP", smtpExample(sender, id)]] : []),
  ];
}

function smtpExample(sender, id) {
  const host = new URL(base).hostname;
  const password = key.value || "$API_KEY";
  const user = `SMTP_Injection${id && `:X-SVC-SUBACCOUNT=${id}`}`;
  return [
    `Host      ${host}`,
    `Port      ${local.value ? "2525, or the SMTP port that make run printed" : "587"}`,
    "Security  STARTTLS",
    `User      ${user}`,
    `Password  ${key.value || "the API key"}`,
    "",
    `swaks --server ${host}:${local.value ? 2525 : 587} --tls \\`,
    `  --auth-user '${user}' --auth-password ${key.value ? `'${password}'` : `"${password}"`} \\`,
    `  --from ${sender} --to you@example.com \\`,
    "  --header 'Subject: Hello' --body 'It works.'",
  ].join("\n");
}

function KeyNeeded() {
  return html`
    <div class="row wraps">
      <p class="soft">
        Programs send with an API key: set <code>API_KEY</code> in your shell first.
      </p>
      ${
        may("api_keys/manage") &&
        html`
          <${Button} kind="small" icon="key" href=${href(["settings", "keys"])}>
            API keys
          <//>
        `
      }
    </div>
  `;
}

/** With `waits` the page that it is on fills when the first message arrives. */
export default function FirstSend({ title = "Send the first message", waits }) {
  const all = ways(local.value ? "hello@example.test" : "hello@your-domain.example");
  const [way, setWay] = useState(all[0][0]);
  const [, name, text] = all.find(([id]) => id === way) ?? all[0];
  const effects = [
    outgoing.value && `${outgoing.value} Choose a recipient who expects it.`,
    local.value &&
      !outgoing.value &&
      "Nothing leaves this machine: the message is in the mailbox a moment later.",
    waits && "This page fills as soon as the message is on its way.",
  ].filter(Boolean);
  return html`
    <div class="stack">
      <${Card}
        title=${title}
        actions=${
          waits && html`<span class="live on" role="status">Waiting for the first message</span>`
        }
      >
        <div class="stack">
          <p class="soft">
            Paste ${all.length > 1 ? "one of these" : "this"}. ${effects.join(" ")}
          </p>
          ${!key.value && html`<${KeyNeeded} />`}
          <${Tabs}
            label="Ways to send"
            tabs=${all.map(([id, label]) => [id, label])}
            current=${way}
            onChange=${setWay}
            id="way"
          />
          <${TabPanel} current=${way} id="way"><${Code} text=${text} label="${name} example" /><//>
        </div>
      <//>
      ${local.value && html`<${Card} title="Recipients that behave"><${Behaviours} /><//>`}
    </div>
  `;
}
