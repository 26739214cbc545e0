// One snippet: its parts and settings at the left, what becomes of them at the right.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { inWords } from "../core/messages.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, shownSubaccount } from "../core/service.js";
import { dataId, importOf, snippetPath } from "../core/snippets.js";
import {
  dataText,
  dataUpdate,
  dropFormerData,
  isOtherData,
  isShared,
  keepUnsaved,
  parseData,
  PARTS,
  unsaved,
} from "../core/templates.js";
import { Badge, Button, CheckField, Copyable, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { CodeEditor } from "../parts/editor.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded, Notice, toast } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { Card, PageHead } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { TestData } from "./templates-content.js";
import { useJudged } from "./templates-judged.js";
import { Preview } from "./templates-preview.js";

const AT_ONCE = 50;
const read = (id, signal) =>
  get(snippetPath(id), undefined, { signal }).then((answer) => answer.results);
const readUsers = (id, signal) =>
  get(`${snippetPath(id)}/templates`, undefined, { signal }).then((answer) => answer.results);

/** What can be edited, with every part: an update with an empty text removes a part. */
const editable = ({ name, shared_with_subaccounts: shared, content }) => ({
  name,
  shared,
  content: Object.fromEntries(PARTS.map(([part]) => [part, content[part] ?? ""])),
});
const isSame = ({ data: _, ...edit }, stored) => JSON.stringify(edit) === JSON.stringify(stored);

export function SnippetEditor({ id }) {
  const resource = useResource((signal) => read(id, signal), [id]);
  return html`
    <div class="page wide-page">
      <${Loaded} resource=${resource}>
        ${(snippet) => html`<${Editor} id=${id} snippet=${snippet} replace=${resource.set} />`}
      <//>
    </div>
  `;
}

function Editor({ id, snippet, replace }) {
  const own = dataId(id);
  const stored = editable(snippet);
  const [edit, setEdit] = useState(
    () => unsaved(own) ?? { ...stored, data: dataText(own, snippet) },
  );
  const [jump, setJump] = useState(null);
  const users = useResource((signal) => readUsers(id, signal), [id]);
  const writable = may("templates/modify") && !isShared(snippet);
  const changed = writable && (!isSame(edit, stored) || isOtherData(edit.data, snippet));
  const parsed = parseData(edit.data);
  const judged = useJudged(edit.content, parsed.value, true);
  useEffect(() => {
    keepUnsaved(own, changed ? edit : null);
  }, [edit, changed]);
  const change = (part) => setEdit((former) => ({ ...former, ...part }));
  const save = saveAction({ edit, stored, id, snippet, own, replace, setEdit, parsed });
  const destroy = deleteAction(snippet, own, id);
  return html`
    <${Head}
      edit=${edit}
      id=${id}
      changed=${changed}
      writable=${writable}
      destroy=${destroy}
      save=${save}
      setEdit=${setEdit}
      stored=${stored}
      own=${own}
      snippet=${snippet}
    />
    ${
      isShared(snippet) &&
      html`
        <${Notice}>
          The account shares this snippet. Templates may import it; the account alone changes it.
        <//>
      `
    }
    <div class="columns template">
      <div class="stack">
        <${Parts}
          edit=${edit}
          change=${change}
          problem=${parsed.problem}
          judged=${judged}
          jump=${jump}
          writable=${writable}
        />
        <${UsedIn} resource=${users} id=${id} />
      </div>
      <${Preview} judged=${judged} onJump=${setJump} />
    </div>
  `;
}

function Head({ edit, id, changed, writable, destroy, save, setEdit, stored, own, snippet }) {
  return html`
    <${PageHead}
      keeps
      title=${edit.name || id}
      back=${["Snippets", href(["templates", "snippets"])]}
      about=${html`
        <span class="row wraps">
          ${changed && html`<${Badge} tone="plum" icon="pencil">Not saved<//>`}
          <${Copyable} text=${importOf(id)} />
        </span>
        <${LastChanged} resource="snippets" id=${id} of=${snippet} />
      `}
    >
      <${CurlButton} path=${snippetPath(id)} />
      ${
        writable &&
        html`
          <${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
          ${
            changed &&
            html`
              <${Button}
                icon="rotate-ccw"
                onClick=${() => setEdit({ ...stored, data: dataText(own, snippet) })}
              >
                Discard
              <//>
            `
          }
          <div class="kept"><${SaveButton} disabled=${!changed} save=${save} /></div>
        `
      }
    <//>
  `;
}

function deleteAction(snippet, own, id) {
  return async () => {
    let templates;
    if (
      !(await attempt(async () => {
        templates = await readUsers(id);
      }))
    )
      return;
    const text = templates.length
      ? `${templates
          .map((each) => each.name)
          .slice(0, 5)
          .join(", ")}${templates.length > 5 ? " and more" : ""} would ` +
        `lack it: their mail cannot be generated from then on.`
      : "Its content is lost. No template names it.";
    if (
      !(await confirm({
        title: `Delete ${snippet.name}?`,
        text,
        typed: templates.length ? snippet.name : undefined,
      }))
    )
      return;
    if (!(await attempt(() => remove(snippetPath(id)), "Deleted"))) return;
    keepUnsaved(own, null);
    dropFormerData(own);
    go(["templates", "snippets"]);
  };
}

function saveAction({ edit, stored, id, snippet, own, replace, setEdit, parsed }) {
  return async () => {
    const { name, shared, content } = edit;
    const fields = {
      name,
      content,
      ...(shared !== stored.shared && { shared_with_subaccounts: shared }),
    };
    await put(snippetPath(id), { ...fields, ...dataUpdate(edit.data, snippet) });
    dropFormerData(own);
    const fresh = await read(id);
    replace(() => fresh);
    // What was typed in the meantime stays.
    setEdit((former) => (former === edit ? { ...editable(fresh), data: edit.data } : former));
    if (parsed.problem) toast(`The test data is not saved. ${parsed.problem}`, "bad");
  };
}

function SaveButton({ save, disabled }) {
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    await attempt(save, "Saved");
    setBusy(false);
  };
  return html`
    <${Button} icon="save" kind="primary" busy=${busy} disabled=${disabled} onClick=${run}>Save<//>
  `;
}

function Parts({ edit, change, problem, judged, jump, writable }) {
  const faults = (part) => judged.errors.filter((each) => each.part === part);
  const tabs = [
    ...PARTS.map(([key, label]) => [key, label, faults(key).length || null]),
    ["data", "Test data"],
    ["settings", "Settings"],
  ];
  const current = tabs.find(([key]) => key === route.value.query.part)?.[0] ?? tabs[0][0];
  const part = PARTS.find(([key]) => key === current);
  const choose = (key) => setQuery({ part: key === tabs[0][0] ? "" : key });
  useEffect(() => {
    if (PARTS.some(([key]) => key === jump?.part)) choose(jump.part);
  }, [jump]);
  return html`
    <section class="card" aria-label="Parts">
      <div class="card-tabs">
        <${Tabs}
          id="part"
          label="Parts of the snippet"
          tabs=${tabs}
          current=${current}
          onChange=${choose}
        />
      </div>
      <${TabPanel} id="part" current=${current}>
        ${
          part &&
          html`
            <${PartEditor}
              key=${current}
              current=${current}
              part=${part}
              edit=${edit}
              writable=${writable}
              faults=${faults}
              jump=${jump}
              change=${change}
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
          html`<${Settings} edit=${edit} writable=${writable} change=${change} />`
        }
      <//>
    </section>
  `;
}

function Settings({ edit, writable, change }) {
  return html`
    <div class="pane-note stack">
      <${TextField}
        label="Name"
        value=${edit.name}
        onInput=${(name) => change({ name })}
        readonly=${!writable}
      />
      ${
        shownSubaccount() === "" &&
        html`
          <${CheckField}
            label="Share with all subaccounts"
            checked=${edit.shared}
            disabled=${!writable}
            onChange=${(shared) => change({ shared })}
          />
        `
      }
    </div>
  `;
}

function PartEditor({ current, part, edit, writable, faults, jump, change }) {
  return html`
    <${CodeEditor}
      label=${part[1]}
      language=${part[2]}
      value=${edit.content[current]}
      readOnly=${!writable}
      onInput=${(text) => change({ content: { ...edit.content, [current]: text } })}
      problems=${faults(current).map((each) => ({ ...each, text: inWords(each) }))}
      jump=${jump?.part === current ? jump : null}
    />
  `;
}

function UsedIn({ resource, id }) {
  const [most, setMost] = useState(AT_ONCE);
  return html`
    <${Card} title="Used in">
      <${Loaded} resource=${resource}>
        ${(templates) =>
          templates.length
            ? html`
              <ul class="stack small" aria-label="Templates that use it">
                ${templates.slice(0, most).map(
                  (each) => html`
                    <li key=${each.id}>
                      <a href=${href(["templates", "edit", each.id])}>${each.name}</a>
                    </li>
                  `,
                )}
              </ul>
              ${
                templates.length > most &&
                html`<${Button} kind="small" onClick=${() => setMost(most + AT_ONCE)}>Show more<//>`
              }
            `
            : html`
              <p class="soft">
                No template names it. Write <code>${importOf(id)}</code> into a part of one.
              </p>
            `}
      <//>
    <//>
  `;
}
