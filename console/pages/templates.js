// Templates, snippets and A/B tests: which there are, and an editor for each.
import { html } from "../vendor/preact.js";
import { route } from "../core/router.js";
import { AbTestList } from "./ab-tests.js";
import { AbTestView } from "./ab-tests-view.js";
import { TemplateEditor } from "./templates-editor.js";
import { TemplateList } from "./templates-list.js";
import { SnippetEditor } from "./templates-snippet.js";
import { SnippetList } from "./templates-snippets.js";

const VIEWS = {
  edit: [TemplateList, TemplateEditor],
  snippets: [SnippetList, SnippetEditor],
  "ab-tests": [AbTestList, AbTestView],
};

export default function Templates() {
  const [, section, id] = route.value.path;
  const [All, One] = VIEWS[section] ?? VIEWS.edit;
  return section in VIEWS && id ? html`<${One} key=${id} id=${id} />` : html`<${All} />`;
}
