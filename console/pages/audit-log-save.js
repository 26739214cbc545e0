// Save the lines that the filters match as CSV, as the API writes it.
import { html, useState } from "../vendor/preact.js";
import { ApiError, exchange } from "../core/api.js";
import { AUDIT_LOG, searchOf } from "../core/audit.js";
import { save } from "../core/files.js";
import { IconButton } from "../parts/controls.js";
import { attempt } from "../parts/feedback.js";

const PAGE = 1000;
const headers = { Accept: "text/csv" };

/** The CSV of all pages; each begins with the names of the columns. */
async function readAll(search) {
  let text = "";
  let cursor = "";
  do {
    const query = { ...search, per_page: PAGE, cursor };
    const page = await exchange("GET", AUDIT_LOG, { query, headers });
    if (page.status !== 200) throw new ApiError(page.status, JSON.parse(page.text).errors ?? []);
    text += text ? page.text.slice(page.text.indexOf("\n") + 1) : page.text;
    cursor = page.headers.find(([name]) => name.toLowerCase() === "x-next-cursor")?.[1] ?? "";
  } while (cursor);
  return text;
}

export function SaveButton({ query, disabled }) {
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    await attempt(
      async () => save("audit-log.csv", await readAll(searchOf(query)), "text/csv"),
      "Saved",
    );
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
