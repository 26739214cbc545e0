// The source of a message, byte for byte as far as it is text.
import { html } from "../vendor/preact.js";
import { bytes } from "../core/format.js";
import { Button, copy } from "./controls.js";
import { CurlButton } from "./code.js";

const MOST = 400000;

/** `text` is the source, `path` where the API has it, `file` what the button that saves it gets. */
export function SourceText({ text, path, file }) {
  return html`
    <div class="row wraps">
      <${Button} kind="small" icon="download" ...${file}>Save as .eml<//>
      <${Button} kind="small" icon="copy" onClick=${() => copy(text)}>Copy<//>
      <${CurlButton} path=${path} kind="small" />
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
  `;
}
