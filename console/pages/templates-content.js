// The fields of a template: subject and sender, an editor for each part, test data, settings.
import { html, useEffect } from "../vendor/preact.js";
import { inWords } from "../core/messages.js";
import { route, setQuery } from "../core/router.js";
import { partsOf, sender, withSender } from "../core/templates.js";
import { SelectField, TextField } from "../parts/controls.js";
import { confirm } from "../parts/dialog.js";
import { CodeEditor } from "../parts/editor.js";
import { Card } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";

const OPTIONS = [
  ["open_tracking", "Open tracking"],
  ["click_tracking", "Click tracking"],
  ["transactional", "Transactional"],
  ["inline_css", "Inline CSS"],
];
const CHOICES = [
  ["", "As the transmission says"],
  ["true", "On"],
  ["false", "Off"],
];

const ofPart = (errors, part) => errors.filter((each) => each.part === part);

/** What stands in the editor when a template is first written in MJML. */
const FIRST_MJML = `<mjml>
  <mj-body>
    <mj-section>
      <mj-column>
        <mj-text>Hello {{name}}</mj-text>
        <mj-button href="https://example.com/">Open</mj-button>
      </mj-column>
    </mj-section>
  </mj-body>
</mjml>
`;
const LANGUAGES = [
  ["html", "HTML"],
  ["mjml", "MJML, which becomes HTML"],
];

/** `compiled` is the HTML that the stored draft has. */
export function Content({ edit, compiled, change, problem, judged, jump, writable }) {
  const { content } = edit;
  const parts = partsOf(content);
  const tabs = [
    ...parts.map(([key, label]) => [key, label, ofPart(judged.errors, key).length || null]),
    ["data", "Test data"],
    ["settings", "Settings"],
  ];
  const current = tabs.find(([key]) => key === route.value.query.part)?.[0] ?? tabs[0][0];
  const part = parts.find(([key]) => key === current);
  const choose = (key) => setQuery({ part: key === tabs[0][0] ? "" : key });
  useEffect(() => {
    if (parts.some(([key]) => key === jump?.part)) choose(jump.part);
  }, [jump]);
  const set = (changes) => change({ content: { ...content, ...changes } });
  return html`
    <div class="stack">
      ${
        content.email_rfc822 === undefined &&
        html`
          <${Card} title="Subject and sender">
            <${Heads}
              content=${content}
              set=${set}
              errors=${judged.errors}
              replace=${(next) => change({ content: next })}
              readonly=${!writable}
            />
          <//>
        `
      }
      <${Parts}
        tabs=${tabs}
        current=${current}
        choose=${choose}
        part=${part}
        content=${content}
        writable=${writable}
        judged=${judged}
        jump=${jump}
        set=${set}
        edit=${edit}
        problem=${problem}
        compiled=${compiled}
        change=${change}
      />
    </div>
  `;
}

function Parts({
  tabs,
  current,
  choose,
  part,
  content,
  writable,
  judged,
  jump,
  set,
  edit,
  problem,
  compiled,
  change,
}) {
  return html`
    <section class="card" aria-label="Parts">
      <${PartTabs} tabs=${tabs} current=${current} choose=${choose} />
      <${TabPanel} id="part" current=${current}>
        ${
          part &&
          html`
            <${PartEditor}
              current=${current}
              part=${part}
              content=${content}
              writable=${writable}
              judged=${judged}
              jump=${jump}
              set=${set}
            />
          `
        }
        ${
          current === "data" &&
          html`
            <${TestData}
              data=${edit.data}
              problem=${problem}
              onInput=${(data) => change({ data })}
              writable=${writable}
            />
          `
        }
        ${
          current === "settings" &&
          html`
            <${Settings} edit=${edit} compiled=${compiled} change=${change} disabled=${!writable} />
          `
        }
      <//>
    </section>
  `;
}

function PartTabs({ tabs, current, choose }) {
  return html`
    <div class="card-tabs">
      <${Tabs}
        id="part"
        label="Parts of the template"
        tabs=${tabs}
        current=${current}
        onChange=${choose}
      />
    </div>
  `;
}

function PartEditor({ current, part, content, writable, judged, jump, set }) {
  return html`
    <p class="pane-note soft">
      <a href="template-language.html" target="_blank">
        The template language by example
      </a>
    </p>
    <${CodeEditor}
      key=${current}
      label=${part[1]}
      language=${part[2]}
      value=${content[current] ?? ""}
      readOnly=${!writable}
      onInput=${(text) => set({ [current]: text })}
      problems=${ofPart(judged.errors, current).map((each) => ({
        ...each,
        text: inWords(each),
      }))}
      jump=${jump?.part === current ? jump : null}
    />
  `;
}

/**
 * The data that a template or snippet is tried with. Those who may not save it may still try other
 * data.
 */
export function TestData({ data, problem, onInput, writable }) {
  return html`
    <p class="pane-note soft">
      An object as JSON: the substitution data of the preview and of tests.${" "}
      ${
        writable
          ? "It is saved with the draft, for everybody who edits it."
          : "What you change here is not saved."
      }
    </p>
    ${
      problem &&
      html`<p class="pane-note field"><span class="problem" role="alert">${problem}</span></p>`
    }
    <${CodeEditor} key="data" label="Test data" language="json" value=${data} onInput=${onInput} />
  `;
}

function Heads({ content, set, replace, errors, readonly }) {
  const { name, email } = sender(content);
  const fault = (header) => ofPart(errors, `Header:${header}`).map(inWords).join(" ");
  return html`
    <div class="stack small">
      <${TextField}
        label="Subject"
        problem=${fault("Subject")}
        value=${content.subject ?? ""}
        onInput=${(subject) => set({ subject })}
        readonly=${readonly}
      />
      <div class="form-grid">
        <${TextField}
          label="From name"
          optional
          value=${name}
          onInput=${(text) => replace(withSender(content, { name: text, email }))}
          readonly=${readonly}
        />
        <${TextField}
          label="From address"
          problem=${fault("From")}
          value=${email}
          onInput=${(text) => replace(withSender(content, { name, email: text }))}
          spellcheck="false"
          readonly=${readonly}
        />
        <${TextField}
          label="Reply to"
          optional
          problem=${fault("Reply-To")}
          value=${content.reply_to ?? ""}
          onInput=${(text) => set({ reply_to: text })}
          spellcheck="false"
          readonly=${readonly}
        />
      </div>
    </div>
  `;
}

function Settings({ edit, compiled, change, disabled }) {
  const { html: written, mjml, ...others } = edit.content;
  const write = writeAction({ written, mjml, change, others, compiled });
  const option = (name) => String(edit.options[name] ?? "");
  const choose = (name, value) =>
    change({ options: { ...edit.options, [name]: value === "" ? null : value === "true" } });
  return html`
    <div class="pane-note stack">
      <div class="form-grid">
        <${TextField}
          label="Name"
          value=${edit.name}
          onInput=${(name) => change({ name })}
          readonly=${disabled}
        />
        <${TextField}
          label="Description"
          optional
          value=${edit.description ?? ""}
          onInput=${(description) => change({ description })}
          readonly=${disabled}
        />
        ${
          edit.content.email_rfc822 === undefined &&
          html`
            <${SelectField}
              label="Written in"
              options=${LANGUAGES}
              value=${mjml === undefined ? "html" : "mjml"}
              onChange=${write}
              disabled=${disabled}
            />
          `
        }
      </div>
      <div class="form-grid">
        ${OPTIONS.map(
          ([name, label]) => html`
            <${SelectField}
              key=${name}
              label=${label}
              options=${CHOICES}
              value=${option(name)}
              onChange=${(value) => choose(name, value)}
              disabled=${disabled}
            />
          `,
        )}
      </div>
    </div>
  `;
}

function writeAction({ written, mjml, change, others, compiled }) {
  return async (language) => {
    const isLost = language === "mjml" ? written : mjml !== FIRST_MJML;
    if (
      isLost &&
      !(await confirm({
        title: "Write it in another language?",
        text:
          language === "mjml"
            ? "The HTML is replaced by MJML to begin with."
            : "The MJML is replaced by the HTML that it became when it was saved last.",
        action: "Replace",
      }))
    )
      return;
    change({
      content: {
        ...others,
        ...(language === "mjml" ? { mjml: FIRST_MJML } : { html: compiled ?? "" }),
      },
    });
  };
}
