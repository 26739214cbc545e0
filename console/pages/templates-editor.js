// One template: its fields and parts at the left, what becomes of them at the right.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go, href } from "../core/router.js";
import { may } from "../core/service.js";
import {
  dataText,
  dataUpdate,
  dropFormerData,
  editable,
  isOtherData,
  isSame,
  isShared,
  keepUnsaved,
  parseData,
  templatePath,
  unsaved,
} from "../core/templates.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded, Notice, toast } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { PageHead } from "../parts/page.js";
import { SendTest } from "../parts/send-test.js";
import { Content } from "./templates-content.js";
import { useJudged } from "./templates-judged.js";
import { State } from "./templates-list.js";
import { Preview } from "./templates-preview.js";
import { Publish } from "./templates-publish.js";

/** Both versions of a template; `published` is null until there is one. */
async function versions(id, signal) {
  const read = (draft) =>
    get(templatePath(id), { draft }, { signal }).then((answer) => answer.results);
  const draft = await read(true);
  return { draft, published: draft.has_published ? await read(false) : null };
}

export function TemplateEditor({ id }) {
  const resource = useResource((signal) => versions(id, signal), [id]);
  return html`
    <div class="page wide-page">
      <${Loaded} resource=${resource}>
        ${(data) => html`<${Editor} id=${id} ...${data} replace=${resource.set} />`}
      <//>
    </div>
  `;
}

/** What is edited: the fields of a version, and the test data as text. */
const fieldsOf = (id, draft) => ({ ...editable(draft), data: dataText(id, draft) });

function Editor({ id, draft, published, replace }) {
  const [edit, setEdit] = useState(() => unsaved(id) ?? fieldsOf(id, draft));
  const [jump, setJump] = useState(null);
  const writable = may("templates/modify") && !isShared(draft);
  const changed = writable && (!isSame(edit, draft) || isOtherData(edit.data, draft));
  const parsed = parseData(edit.data);
  const judged = useJudged(edit.content, parsed.value);
  useEffect(() => {
    keepUnsaved(id, changed ? edit : null);
  }, [edit, changed]);
  const change = (part) => setEdit((former) => ({ ...former, ...part }));
  const save = saveAction({ edit, draft, id, replace, setEdit, parsed });
  const state = !published ? "draft" : isSame(edit, published) ? "published" : "changed";
  const about = html`<${About} id=${id} state=${state} changed=${changed} draft=${draft} />`;
  return html`
    <${PageHead}
      keeps
      title=${edit.name || id}
      back=${["Templates", href(["templates"])]}
      about=${about}
    >
      <${Actions}
        id=${id}
        edit=${edit}
        published=${published}
        changed=${changed}
        parsed=${parsed}
        save=${save}
        revert=${() => setEdit(fieldsOf(id, draft))}
        writable=${writable}
      />
    <//>
    ${
      isShared(draft) &&
      html`
        <${Notice}>
          The account shares this template. It can be sent; the account alone changes it.
        <//>
      `
    }
    <div class="columns template">
      <${Content}
        edit=${edit}
        compiled=${draft.content.html}
        change=${change}
        problem=${parsed.problem}
        judged=${judged}
        jump=${jump}
        writable=${writable}
      />
      <${Preview} judged=${judged} onJump=${setJump} />
    </div>
  `;
}

function About({ id, state, changed, draft }) {
  return html`
    <span class="row wraps">
      <${State} state=${state} />
      ${changed && html`<${Badge} tone="plum" icon="pencil">Not saved<//>`}
      <${Copyable} text=${id} />
    </span>
    <${LastChanged} resource="templates" id=${id} of=${draft} />
  `;
}

function saveAction({ edit, draft, id, replace, setEdit, parsed }) {
  return async (more) => {
    const fields = isSame(edit, draft) ? {} : editable(edit);
    await put(templatePath(id), { ...fields, ...dataUpdate(edit.data, draft), ...more });
    dropFormerData(id);
    const fresh = await versions(id);
    replace(() => fresh);
    // What was typed in the meantime stays
    setEdit((former) => (former === edit ? { ...editable(fresh.draft), data: edit.data } : former));
    if (parsed.problem) toast(`The test data is not saved. ${parsed.problem}`, "bad");
  };
}

function Actions({ id, edit, published, changed, parsed, save, revert, writable }) {
  const [dialog, setDialog] = useState("");
  const [busy, setBusy] = useState(false);
  const saveDraft = async () => {
    setBusy(true);
    await attempt(() => save(), "Draft saved");
    setBusy(false);
  };
  const testOf = (address) => ({
    recipients: [{ address: { email: address } }],
    substitution_data: parsed.value ?? {},
    content: { template_id: id, use_draft_template: true },
  });
  const destroy = deleteAction(edit, id);
  return html`
    <${CurlButton} path=${templatePath(id)} query=${{ draft: true }} />
    ${
      writable &&
      html`
        <${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
        ${changed && html`<${Button} icon="rotate-ccw" onClick=${revert}>Discard<//>`}
      `
    }
    ${
      may("transmissions/modify") &&
      html`<${Button} icon="send" onClick=${() => setDialog("send")}>Send a test<//>`
    }
    ${
      writable &&
      html`
        <${MainActions}
          busy=${busy}
          changed=${changed}
          saveDraft=${saveDraft}
          published=${published}
          edit=${edit}
          setDialog=${setDialog}
        />
      `
    }
    ${
      dialog === "send" &&
      html`
        <${TestDialog}
          testOf=${testOf}
          changed=${changed}
          save=${save}
          parsed=${parsed}
          setDialog=${setDialog}
        />
      `
    }
    ${
      dialog === "publish" &&
      html`
        <${PublishDialog} edit=${edit} published=${published} save=${save} setDialog=${setDialog} />
      `
    }
  `;
}

function PublishDialog({ edit, published, save, setDialog }) {
  return html`
    <${Publish} edit=${edit} published=${published} save=${save} onClose=${() => setDialog("")} />
  `;
}

function MainActions({ busy, changed, saveDraft, published, edit, setDialog }) {
  return html`
    <div class="kept">
      <${Button} icon="save" busy=${busy} disabled=${!changed} onClick=${saveDraft}>
        Save draft
      <//>
      <${Button}
        icon="upload"
        kind="primary"
        disabled=${published && isSame(edit, published)}
        onClick=${() => setDialog("publish")}
      >
        Publish
      <//>
    </div>
  `;
}

function TestDialog({ testOf, changed, save, parsed, setDialog }) {
  return html`
    <${SendTest}
      title="Send a test"
      what="The draft"
      bodyFor=${testOf}
      prepare=${changed ? save : undefined}
      problem=${parsed.problem && `Test data: ${parsed.problem}`}
      onClose=${() => setDialog("")}
    >
      The draft is sent with the test data, as any other mail: it is counted and its events appear.
      ${changed && " Your changes are saved first."}
    <//>
  `;
}

function deleteAction(edit, id) {
  return async () => {
    if (
      !(await confirm({
        title: `Delete ${edit.name}?`,
        text:
          "The draft and the published version are lost. Transmissions that name it are " +
          "refused from then on.",
        typed: edit.name,
      }))
    )
      return;
    if (!(await attempt(() => remove(templatePath(id)), "Deleted"))) return;
    keepUnsaved(id, null);
    dropFormerData(id);
    go(["templates"]);
  };
}
