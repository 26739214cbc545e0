// The files of a message: attachments, and images that its HTML shows.
import { html } from "../vendor/preact.js";
import { address } from "../core/api.js";
import { bytes } from "../core/format.js";
import { Badge, Button, Icon } from "../parts/controls.js";

const SHOWN = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;

export function Attachments({ message, parts }) {
  return html`
    <ul class="files">
      ${parts.map((each) => {
        const link = address(`local/mailbox/${message.id}/parts/${each.part}`);
        const name = each.filename || each.content_id || `Part ${each.part}`;
        return html`
          <li key=${each.part} class="card">
            <div class="file-mark">
              ${
                SHOWN.test(each.content_type)
                  ? html`<img src=${link} alt="" loading="lazy" />`
                  : html`<${Icon} name="file" />`
              }
            </div>
            <div class="grow">
              <div class="clip strong" title=${name}>${name}</div>
              <div class="soft clip">${each.content_type}, ${bytes(each.size)}</div>
            </div>
            ${each.role === "inline" && html`<${Badge}>inline<//>`}
            <${Button}
              kind="small"
              icon="download"
              href=${link}
              download=${name}
              aria-label="Download ${name}"
            >
              Save
            <//>
          </li>
        `;
      })}
    </ul>
  `;
}
