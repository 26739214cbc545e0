// One template: its fields and parts at the left, what becomes of them at the right.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get, put, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { go, href } from "../core/router.js";
import { may } from "../core/service.js";
import { dropTestData, editable, isSame, keepTestData, keepUnsaved, parseData, templatePath, testData, unsaved } from "../core/templates.js";
import { Badge, Button, Copyable } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded } from "../parts/feedback.js";
import { PageHead } from "../parts/page.js";
import { Content } from "./templates-content.js";
import { useJudged } from "./templates-judged.js";
import { State } from "./templates-list.js";
import { Preview } from "./templates-preview.js";
import { Publish } from "./templates-publish.js";
import { SendTest } from "./templates-send.js";

/** Both versions of a template; `published` is null until there is one. */
async function versions(id, signal) {
  const read = (draft) => get(templatePath(id), { draft }, { signal }).then((answer) => answer.results);
  const draft = await read(true);
  return { draft, published: draft.has_published ? await read(false) : null };
}

export function TemplateEditor({ id }) {
  const resource = useResource((signal) => versions(id, signal), [id]);
  return html`<div class="page wide-page"><${Loaded} resource=${resource}>${(data) => html`<${Editor} id=${id} ...${data} replace=${resource.set} />`}<//></div>`;
}

function Editor({ id, draft, published, replace }) {
  const [edit, setEdit] = useState(() => unsaved(id) ?? editable(draft));
  const [data, setData] = useState(() => testData(id));
  const [jump, setJump] = useState(null);
  const changed = !isSame(edit, draft);
  const parsed = parseData(data);
  const judged = useJudged(edit.content, parsed.value);
  const writable = may("templates/modify");
  useEffect(() => { keepUnsaved(id, changed ? edit : null); }, [edit, changed]);
  const change = (part) => setEdit((former) => ({ ...former, ...part }));
  const save = async (more) => {
    await put(templatePath(id), { ...editable(edit), ...more });
    const fresh = await versions(id);
    replace(() => fresh);
    // What was typed in the meantime stays.
    setEdit((former) => (former === edit ? editable(fresh.draft) : former));
  };
  const state = !published ? "draft" : changed || !isSame(edit, published) ? "changed" : "published";
  return html`<${PageHead} title=${edit.name || id} back=${["Templates", href(["templates"])]} about=${html`<span class="row wraps"><${State} state=${state} />${changed && html`<${Badge} tone="plum" icon="pencil">Not saved<//>`}<${Copyable} text=${id} /></span>`}>
      <${Actions} id=${id} edit=${edit} published=${published} changed=${changed} parsed=${parsed} save=${save} revert=${() => setEdit(editable(draft))} writable=${writable} /><//>
    <div class="columns template">
      <${Content} edit=${edit} compiled=${draft.content.html} change=${change} data=${data} problem=${parsed.problem} onData=${(text) => { setData(text); keepTestData(id, text); }} judged=${judged} jump=${jump} writable=${writable} />
      <${Preview} judged=${judged} onJump=${setJump} /></div>`;
}

function Actions({ id, edit, published, changed, parsed, save, revert, writable }) {
  const [dialog, setDialog] = useState("");
  const [busy, setBusy] = useState(false);
  const saveDraft = async () => {
    setBusy(true);
    await attempt(() => save(), "Draft saved");
    setBusy(false);
  };
  const destroy = async () => {
    if (!(await confirm({ title: `Delete ${edit.name}?`, text: "The draft and the published version are lost. Transmissions that name it are refused from then on.", typed: edit.name }))) return;
    if (!(await attempt(() => remove(templatePath(id)), "Deleted"))) return;
    keepUnsaved(id, null);
    dropTestData(id);
    go(["templates"]);
  };
  return html`<${CurlButton} path=${templatePath(id)} query=${{ draft: true }} />
    ${writable && html`<${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>
      ${changed && html`<${Button} icon="rotate-ccw" onClick=${revert}>Discard<//>`}`}
    ${may("transmissions/modify") && html`<${Button} icon="send" onClick=${() => setDialog("send")}>Send a test<//>`}
    ${writable && html`<${Button} icon="save" busy=${busy} disabled=${!changed} onClick=${saveDraft}>Save draft<//>
      <${Button} icon="upload" kind="primary" disabled=${published && isSame(edit, published)} onClick=${() => setDialog("publish")}>Publish<//>`}
    ${dialog === "send" && html`<${SendTest} id=${id} parsed=${parsed} changed=${changed && writable} save=${save} onClose=${() => setDialog("")} />`}
    ${dialog === "publish" && html`<${Publish} edit=${edit} published=${published} save=${save} onClose=${() => setDialog("")} />`}`;
}
