// Save the lines that the filters match as CSV, as the API writes it.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { AUDIT_LOG, searchOf } from "../core/audit.js";
import { save } from "../core/files.js";
import { IconButton } from "../parts/controls.js";
import { attempt } from "../parts/feedback.js";

export function SaveButton({ query, disabled }) {
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    await attempt(async () => {
      const headers = { Accept: "text/csv" };
      const text = await get(AUDIT_LOG, searchOf(query), { headers, as: "text" });
      save("audit-log.csv", text, "text/csv");
    }, "Saved");
    setBusy(false);
  };
  return html`
    <${IconButton}
      icon="download"
      kind="ghost small"
      label="Save as CSV"
      busy=${busy}
      disabled=${disabled}
      onClick=${run}
    />
  `;
}
