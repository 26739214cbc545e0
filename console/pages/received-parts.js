// The header fields, the files and the source of a received message.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { save } from "../core/files.js";
import { bytes } from "../core/format.js";
import { fileAddress } from "../core/received.js";
import { useResource } from "../core/resource.js";
import { Badge, Button, Icon } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded, Notice } from "../parts/feedback.js";
import { SourceText } from "../parts/source.js";

/** The API leads to larger ones elsewhere, where the console may not follow. */
const LARGEST = 3000000;

/** `headers`: objects with one field each, in the order of the message. */
export function Headers({ headers }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Header fields">
      <table class="table headers">
        <tbody>
          ${headers.flatMap(Object.entries).map(
            ([name, value], index) => html`
              <tr key=${index}>
                <th scope="row">${name}</th>
                <td class="mono wrap">${value}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** Files are saved and never shown: they are of strangers. */
export function Files({ files }) {
  return html`
    <ul class="files">
      ${files.map((each) => {
        const name = each.name || each.content_id || `Part ${each.number}`;
        return html`
          <li key=${each.number} class="card">
            <div class="file-mark"><${Icon} name="file" /></div>
            <div class="grow">
              <div class="clip strong" title=${name}>${name}</div>
              <div class="soft clip">${each.type}, ${bytes(each.size)}</div>
            </div>
            ${each.inline && html`<${Badge}>inline<//>`}
            <${Button}
              kind="small"
              icon="download"
              href=${fileAddress(each.url)}
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

/** The message as it came in, with the Received field of this service. */
export function Source({ path, message }) {
  if (message.size > LARGEST)
    return html`
      <${Notice}>
        The source has ${bytes(message.size)}, which is too much to be shown. Fetch it with
        ${" "}<${CurlButton} path="${path}/raw" kind="small" />
      <//>
    `;
  return html`<${Shown} path=${path} id=${message.id} />`;
}

function Shown({ path, id }) {
  const resource = useResource(
    (signal) => get(`${path}/raw`, undefined, { signal, as: "text" }),
    [id],
  );
  return html`
    <div class="stack small">
      <${Loaded} resource=${resource}>
        ${(text) => {
          const file = { onClick: () => save(`${id}.eml`, text, "message/rfc822") };
          return html`<${SourceText} text=${text} path="${path}/raw" file=${file} />`;
        }}
      <//>
    </div>
  `;
}
