// The message as it was sent, byte for byte.
import { html } from "../vendor/preact.js";
import { address, get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Loaded } from "../parts/feedback.js";
import { SourceText } from "../parts/source.js";

export function Source({ id }) {
  const path = `local/mailbox/${id}`;
  const file = { href: address(path), download: `${id}.eml` };
  const resource = useResource((signal) => get(path, undefined, { signal, as: "text" }), [id]);
  return html`
    <div class="stack small">
      <${Loaded} resource=${resource}>
        ${(text) => html`<${SourceText} text=${text} path=${path} file=${file} />`}
      <//>
    </div>
  `;
}
