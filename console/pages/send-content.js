// What is sent: inline content, a template or an A/B test.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { setQuery } from "../core/router.js";
import { CheckField, SelectField, TextField } from "../parts/controls.js";
import { Loaded, Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { Segments } from "../parts/tabs.js";
import { kindOf, kinds } from "./send-body.js";
import { FilesField } from "./send-files.js";

/** `faults(part)` tells what is wrong with a part. */
export function ContentForm({ query, content, onChange, faults }) {
  const options = kinds().map(([id, label]) => [id, label]);
  const kind = kindOf(query);
  const field = (name, part) => ({
    problem: part && faults(part),
    "data-part": part,
    value: content[name],
    onInput: (value) => onChange((former) => ({ ...former, [name]: value })),
  });
  return html`
    <${Card}
      title="Content"
      actions=${
        options.length > 1 &&
        html`
          <${Segments}
            label="Kind of content"
            options=${options}
            value=${kind}
            onChange=${(each) => setQuery({ kind: each === "inline" ? "" : each })}
          />
        `
      }
    >
      <div class="stack">
        ${
          kind === "inline" &&
          html`<${Inline} field=${field} content=${content} onChange=${onChange} />`
        }
        ${
          kind === "template" &&
          html`<${TemplateChoice} query=${query} content=${content} onChange=${onChange} />`
        }
        ${
          kind === "ab_test" &&
          html`
            <${Choice}
              key="ab_test"
              name="ab_test"
              label="A/B test"
              path="api/v1/ab-test"
              value=${query.ab_test}
              none="There is no A/B test yet."
            />
          `
        }
      </div>
    <//>
  `;
}

function TemplateChoice({ query, content, onChange }) {
  return html`
    <${Choice}
      key="template"
      name="template"
      label="Template"
      path="api/v1/templates"
      value=${query.template}
      none="There is no template yet."
    />
    <${CheckField}
      label="Use the draft"
      hint="Without it, the published version is sent."
      checked=${content.draft}
      onChange=${(draft) => onChange((former) => ({ ...former, draft }))}
    />
  `;
}

function Inline({ field, content, onChange }) {
  return html`
    <div class="form-grid">
      <${TextField}
        label="From"
        type="email"
        placeholder="hello@example.test"
        spellcheck="false"
        ...${field("from", "Header:From")}
      />
      <${TextField} label="Name of the sender" optional ...${field("name")} />
      <${TextField}
        label="Reply to"
        optional
        spellcheck="false"
        ...${field("replyTo", "Header:Reply-To")}
      />
    </div>
    <${TextField}
      label="Subject"
      placeholder="Welcome, {{name}}"
      ...${field("subject", "Header:Subject")}
    />
    <${TextField}
      label="HTML"
      optional
      multiline
      rows="7"
      class="mono"
      spellcheck="false"
      placeholder="<h1>Hello {{name}}</h1>"
      ...${field("html", "html")}
    />
    <${TextField}
      label="Text"
      optional
      multiline
      rows="4"
      placeholder="Hello {{name}}"
      ...${field("text", "text")}
    />
    <${FilesField}
      files=${content.files}
      onChange=${(change) => onChange((former) => ({ ...former, files: change(former.files) }))}
    />
  `;
}

/** Choose one of what a path lists; the choice is in the address as `name`. */
export function Choice({ name, label, path, value, none }) {
  const resource = useResource((signal) => get(path, undefined, { signal }), [path]);
  return html`
    <${Loaded} resource=${resource}>
      ${({ results }) =>
        results.length
          ? html`
            <${SelectField}
              label=${label}
              value=${value ?? ""}
              onChange=${(id) => setQuery({ [name]: id })}
              options=${[
                ["", "Choose"],
                ...results.map((each) => [
                  each.id,
                  each.name === each.id ? each.id : `${each.name} (${each.id})`,
                ]),
              ]}
            />
          `
          : html`<${Notice}>${none}<//>`}
    <//>
  `;
}
