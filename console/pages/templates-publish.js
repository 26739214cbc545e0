// Publish a draft, after a look at what changes.
import { html } from "../vendor/preact.js";
import { MJML, PARTS, SOURCE } from "../core/templates.js";
import { Dialog } from "../parts/dialog.js";
import { Diff } from "../parts/diff.js";
import { toast } from "../parts/feedback.js";

const LABELS = {
  subject: "Subject",
  from: "From",
  reply_to: "Reply to",
  headers: "Headers",
  ...Object.fromEntries([...PARTS, MJML, SOURCE]),
};

/** The fields that differ: `[{label, before, after}]` as texts. */
function changesOf(before, after) {
  const rows = [
    ["Name", before?.name, after.name],
    ["Description", before?.description, after.description],
    ["Settings", filled(before?.options), filled(after.options)],
  ];
  for (const name of new Set([
    ...Object.keys(before?.content ?? {}),
    ...Object.keys(after.content),
  ]))
    rows.push([LABELS[name] ?? name, before?.content[name], after.content[name]]);
  return rows
    .map(([label, from, to]) => ({ label, before: text(from), after: text(to) }))
    .filter((each) => each.before !== each.after);
}

const filled = (options) =>
  Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== null));

function text(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return Object.entries(value)
    .sort()
    .map(([name, each]) => `${name}: ${each}`)
    .join("\n");
}

export function Publish({ edit, published, save, onClose }) {
  const publish = async () => {
    await save({ published: true });
    toast("Published");
  };
  return html`
    <${Dialog}
      wide
      title="Publish ${edit.name}"
      submit="Publish"
      onClose=${onClose}
      onSubmit=${publish}
    >
      <p class="soft">
        ${
          published
            ? "Mail that is generated from now on has these changes."
            : "It was not published yet. Transmissions that name it use this version from now on."
        }
      </p>
      ${changesOf(published, edit).map(
        (each) => html`
          <section key=${each.label} class="stack small">
            <h3>${each.label}</h3>
            <${Diff} label="Changes of ${each.label}" before=${each.before} after=${each.after} />
          </section>
        `,
      )}
    <//>
  `;
}
