// Code and JSON as text, with a button that copies it.
import { html, useState } from "../vendor/preact.js";
import { isLocal } from "../core/api.js";
import { actingFor, exampleOf } from "../core/examples.js";
import { Button, copy, IconButton } from "./controls.js";
import { Dialog } from "./dialog.js";

export function Code({ text, label = "Code", wrapped }) {
  return html`
    <div class="code">
      <pre class=${wrapped ? "wrapped" : ""} tabindex="0" aria-label=${label}>
        ${text}
      </pre>
      <${IconButton}
        icon="copy"
        label="Copy ${label.toLowerCase()}"
        kind="small"
        onClick=${() => copy(text)}
      />
    </div>
  `;
}

const TOKENS =
  /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

/** A value as JSON, coloured. */
export function Json({ value, label = "JSON" }) {
  const text = JSON.stringify(value, null, 2) ?? "";
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[1])
      parts.push(
        html`<span class=${match[2] ? "token-key" : "token-string"}>${match[1]}</span>`,
        match[2] ?? "",
      );
    else
      parts.push(html`<span class=${match[3] ? "token-number" : "token-word"}>${match[0]}</span>`);
  }
  parts.push(text.slice(end));
  return html`
    <div class="code">
      <pre tabindex="0" aria-label=${label}>${parts}</pre>
      <${IconButton} icon="copy" label="Copy ${label}" kind="small" onClick=${() => copy(text)} />
    </div>
  `;
}

/** A button that shows the request behind a view as a line for a shell. */
export function CurlButton({ method = "GET", path, query, body, kind = "ghost small" }) {
  const [open, setOpen] = useState(false);
  const headers = isLocal(path) ? {} : actingFor();
  const text = exampleOf("curl", { method, path, query, body, headers });
  return html`
    <${Button} icon="terminal" kind=${kind} onClick=${() => setOpen(true)}>curl<//>
    ${
      open &&
      html`
        <${Dialog} title="The same with curl" wide onClose=${() => setOpen(false)}>
          <p class="soft">
            Set <code>API_KEY</code> in your shell first. The answer is the one that this page
            shows.
          </p>
          <${Code} text=${text} label="Command" />
        <//>
      `
    }
  `;
}
