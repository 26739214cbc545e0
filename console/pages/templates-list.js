// The list of templates, and the form of a new one.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { freeId } from "../core/slug.js";
import { TEMPLATES } from "../core/templates.js";
import { Badge, Button, Copyable, TextField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { IdField } from "../parts/id-field.js";
import { Card } from "../parts/page.js";
import { SearchField } from "../parts/search-field.js";
import { Segments } from "../parts/tabs.js";
import { Section } from "./templates-section.js";

const AT_ONCE = 200;
const STATES = [
  ["", "All"],
  ["published", "Published"],
  ["changed", "Changed"],
  ["draft", "Draft"],
];

/** `draft`: never published; `changed`: the draft was edited since. */
export const stateOf = (template) =>
  !template.has_published ? "draft" : template.published ? "published" : "changed";

export function State({ state }) {
  const [text, tone, icon] = {
    draft: ["Draft", "info", "square-pen"],
    changed: ["Published, draft changed", "warn", "pencil"],
    published: ["Published", "good", "circle-check"],
  }[state];
  return html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`;
}

export function TemplateList() {
  const resource = useResource((signal) =>
    get(TEMPLATES, undefined, { signal }).then((answer) => answer.results),
  );
  const [adding, setAdding] = useState(false);
  const add =
    may("templates/modify") &&
    html`<${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>New template<//>`;
  return html`
    <${Section}
      current="list"
      about=${
        "Content that transmissions use by its id. A draft is tried out; publishing makes it the " +
        "version that is sent."
      }
      actions=${html`<${CurlButton} path=${TEMPLATES} />${add}`}
    >
      <${Loaded} resource=${resource}>
        ${(templates) =>
          templates.length
            ? html`<${Matches} templates=${templates} />`
            : html`
              <${Card} flush>
                <${Empty} icon="file-text" title="No template yet" actions=${add}>
                  Write a subject and a body with placeholders such as <code>{{name}}</code>, try
                  them with your data, and publish.
                <//>
              <//>
            `}
      <//>
      ${
        adding &&
        html`
          <${NewTemplate}
            ids=${(resource.data ?? []).map((each) => each.id)}
            onClose=${() => setAdding(false)}
          />
        `
      }
    <//>
  `;
}

function Matches({ templates }) {
  const { q = "", state = "" } = route.value.query;
  const [most, setMost] = useState(AT_ONCE);
  const word = q.trim().toLowerCase();
  const matches = templates
    .filter(
      (each) =>
        (!state || stateOf(each) === state) &&
        [each.id, each.name, each.description].some((text) => text?.toLowerCase().includes(word)),
    )
    .sort((a, b) => b.last_update_time.localeCompare(a.last_update_time));
  return html`
    <div class="toolbar">
      <${SearchField}
        label="Search templates"
        value=${q}
        onInput=${(text) => setQuery({ q: text })}
      />
      <${Segments}
        label="State"
        options=${STATES}
        value=${state}
        onChange=${(each) => setQuery({ state: each })}
      />
      <span class="soft" role="status">${plural(matches.length, "template")}</span>
    </div>
    <${Card} flush>
      ${
        matches.length
          ? html`<${Table} templates=${matches.slice(0, most)} />`
          : html`
            <${Empty}
              icon="search"
              title="No template matches"
              actions=${html`
                <${Button} onClick=${() => setQuery({ q: "", state: "" })}>Show all<//>
              `}
            />
          `
      }
    <//>
    ${
      matches.length > most &&
      html`<div><${Button} onClick=${() => setMost(most + AT_ONCE)}>Show more<//></div>`
    }
  `;
}

function Table({ templates }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Templates">
      <table class="table">
        <thead>
          <tr><th>Name</th><th>State</th><th>Id</th><th>Changed</th><th>Last used</th></tr>
        </thead>
        <tbody>
          ${templates.map(
            (each) => html`
              <tr key=${`${each.subaccount_id}/${each.id}`}>
                <td>
                  <a class="strong" href=${href(["templates", "edit", each.id])}>${each.name}</a>
                  ${each.description && html`<div class="soft">${each.description}</div>`}
                </td>
                <td><${State} state=${stateOf(each)} /></td>
                <td><${Copyable} text=${each.id} /></td>
                <td><${Time} at=${each.last_update_time} /></td>
                <td><${Time} at=${each.last_use} /></td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function NewTemplate({ ids, onClose }) {
  const [name, setName] = useState("");
  const [id, setId] = useState("");
  const [from, setFrom] = useState("");
  const proposal = freeId(name, ids);
  const create = async () => {
    const content = {
      from,
      subject: "Hello, {{name}}",
      html: "<h1>Hello, {{name}}</h1>\n<p>Write your mail here.</p>\n",
      text: "Hello, {{name}}\n\nWrite your mail here.\n",
    };
    const chosen = id || proposal;
    const { results } = await post(TEMPLATES, {
      name,
      content,
      preview_data: { name: "Anna" },
      ...(chosen && { id: chosen }),
    });
    go(["templates", "edit", results.id]);
  };
  return html`
    <${Dialog}
      title="New template"
      submit="Make template"
      disabled=${!name || !from}
      onClose=${onClose}
      onSubmit=${create}
    >
      <${TextField} label="Name" value=${name} onInput=${setName} />
      <${IdField} hint="Transmissions name it." value=${id} onInput=${setId} proposal=${proposal} />
      <${TextField}
        label="From"
        type="email"
        hint="An address at one of your sending domains."
        placeholder="hello@example.com"
        value=${from}
        onInput=${setFrom}
      />
    <//>
  `;
}
