// Templates: which there are, and an editor for each.
import { html } from "../vendor/preact.js";
import { route } from "../core/router.js";
import { TemplateEditor } from "./templates-editor.js";
import { TemplateList } from "./templates-list.js";

export default function Templates() {
  const { path } = route.value;
  return path[1] === "edit" && path[2] ? html`<${TemplateEditor} key=${path[2]} id=${path[2]} />` : html`<${TemplateList} />`;
}
