// How to send, ready to paste, in the ways that the key may use.
import { html, useState } from "../vendor/preact.js";
import { base } from "../core/api.js";
import { local, may } from "../core/service.js";
import { key, subaccount } from "../core/session.js";
import { TabPanel, Tabs } from "../parts/controls.js";
import { Code } from "../parts/code.js";
import { Card } from "../parts/page.js";
import { Behaviours } from "./behaviours.js";

const MESSAGE = {
  content: { from: "hello@example.test", subject: "Hello", text: "It works." },
  recipients: [{ address: "you@example.com" }],
};
const indent = (text, spaces) => text.replaceAll("\n", `\n${" ".repeat(spaces)}`);

/** `[[id, name, lines], ...]`: the same message in each way that the key may send it. */
function ways(sender) {
  const message = { ...MESSAGE, content: { ...MESSAGE.content, from: sender } };
  const json = JSON.stringify(message, null, 2);
  // Acting for a subaccount: the header says so, and in SMTP the name of the user
  const id = subaccount.value === "0" ? "" : subaccount.value;
  const curlHeader = id && ` \\\n  -H 'X-SVC-SUBACCOUNT: ${id}'`;
  const header = id && `, "X-SVC-SUBACCOUNT": "${id}"`;
  const user = `SMTP_Injection${id && `:X-SVC-SUBACCOUNT=${id}`}`;
  const byApi = [
    [
      "curl",
      "curl",
      `curl -s ${base}api/v1/transmissions \\\n  -H 'Authorization: ${key.value}'${curlHeader} ` +
        `\\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`,
    ],
    [
      "python",
      "Python",
      `import json, urllib.request\n\nmessage = ${json}\nrequest = urllib.request.Request(\n    ` +
        `"${base}api/v1/transmissions",\n    json.dumps(message).encode(),\n    ` +
        `{"Authorization": "${key.value}", "Content-Type": ` +
        `"application/json"${header}},\n)\nprint(urllib.request.urlopen(request).read().decode())`,
    ],
    [
      "node",
      "Node",
      `const response = await fetch("${base}api/v1/transmissions", {\n  method: "POST",\n  ` +
        `headers: { Authorization: "${key.value}", "Content-Type": "application/json"${header} ` +
        `},\n  body: JSON.stringify(${indent(json, 2)}),\n});\nconsole.log(await response.json());`,
    ],
  ];
  const bySmtp = [
    [
      "smtp",
      "SMTP",
      `Host      ${new URL(base).hostname}\nPort      ` +
        `${local.value ? "2525, or the SMTP port that make run printed" : "587"}\nSecurity  ` +
        `STARTTLS\nUser      ${user}\nPassword  ${key.value}\n\nswaks --server ` +
        `${new URL(base).hostname}:${local.value ? 2525 : 587} --tls \\\n  --auth-user ` +
        `'${user}' --auth-password '${key.value}' \\\n  --from ${sender} --to you@example.com ` +
        `\\\n  --header 'Subject: Hello' --body 'It works.'`,
    ],
  ];
  return [...(may("transmissions/modify") ? byApi : []), ...(may("smtp/inject") ? bySmtp : [])];
}

/** With `waits` the page that it is on fills when the first message arrives. */
export default function FirstSend({ title = "Send the first message", waits }) {
  const all = ways(local.value ? "hello@example.test" : "hello@your-domain.example");
  const [way, setWay] = useState(all[0][0]);
  const [, name, text] = all.find(([id]) => id === way);
  const effects = [
    local.value && "Nothing leaves this machine: the message is in the mailbox a moment later.",
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
