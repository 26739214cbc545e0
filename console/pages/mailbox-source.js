// The message as it was sent, byte for byte.
import { html } from "../vendor/preact.js";
import { address, get } from "../core/api.js";
import { bytes } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { Button, copy } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded } from "../parts/feedback.js";

const MOST = 400000;

export function Source({ id }) {
  const resource = useResource(
    (signal) => get(`local/mailbox/${id}`, undefined, { signal, as: "text" }),
    [id],
  );
  return html`
    <div class="stack small">
      <${Loaded} resource=${resource}>
        ${(text) => html`
          <div class="row wraps">
            <${Button}
              kind="small"
              icon="download"
              href=${address(`local/mailbox/${id}`)}
              download="${id}.eml"
            >
              Save as .eml
            <//>
            <${Button} kind="small" icon="copy" onClick=${() => copy(text)}>Copy<//>
            <${CurlButton} path="local/mailbox/${id}" kind="small" />
          </div>
          <pre class="mail-text mono" tabindex="0" aria-label="Source of the message">
            ${text.slice(0, MOST)}
          </pre>
          ${
            text.length > MOST &&
            html`
              <p class="soft">
                The first ${bytes(MOST)} of ${bytes(text.length)}. The file has all of it.
              </p>
            `
          }
        `}
      <//>
    </div>
  `;
}
