// What is sent, tried before it is sent: errors as the API finds them, data that recipients lack,
// and the mail as one of the first recipients gets it.
import { html, useMemo, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { inWords } from "../core/messages.js";
import { dataOf, lacking } from "../core/recipient-data.js";
import { useResource, useSettled } from "../core/resource.js";
import { go } from "../core/router.js";
import { templatePath } from "../core/templates.js";
import { SelectField } from "../parts/controls.js";
import { ErrorBox, Notice } from "../parts/feedback.js";
import { kindOf } from "./send-body.js";
import { useJudged } from "./templates-judged.js";
import { Preview } from "./templates-preview.js";

const MOST_SHOWN = 20;
const NOBODY = [];
/** The code of an error that names a field which is missing. */
const REQUIRED = "1400";

/**
 * The content to try, or null while there is none: what is written here, without files, or the
 * template.
 */
function useTried(query, { content }) {
  const kind = kindOf(query);
  const id = kind === "template" ? query.template : "";
  const draft = Boolean(content.use_draft_template);
  const template = useResource(
    (signal) =>
      id
        ? get(templatePath(id), { draft }, { signal }).then(({ results }) => ({
            id,
            content: results.content,
          }))
        : null,
    [id, draft],
  );
  const { attachments: _files, inline_images: _images, ...written } = content;
  if (kind === "inline") return { tried: written.html || written.text ? written : null };
  return {
    tried: id && template.data?.id === id ? template.data?.content : null,
    error: id ? template.error : null,
    template: id,
  };
}

/** The recipients: those that are written here or of the list, if one answer has place for it. */
function useRecipients({ recipients }) {
  const id = recipients.list_id ?? "";
  const list = useResource(
    async (signal) =>
      id
        ? {
            id,
            recipients: (
              await get(
                `api/v1/recipient-lists/${encodeURIComponent(id)}`,
                { show_recipients: true },
                { signal },
              )
            ).results.recipients,
          }
        : null,
    [id],
  );
  if (!id) return Array.isArray(recipients) ? recipients : NOBODY;
  return list.data?.id === id ? list.data?.recipients : NOBODY;
}

/**
 * Try what the forms hold. `faults(part)` has the errors of a part in words; `hasErrors` tells
 * whether there are any.
 */
export function useCheck(query, body) {
  const [index, setIndex] = useState(0);
  const recipients = useRecipients(body);
  const chosen = Math.min(index, Math.max(0, Math.min(MOST_SHOWN, recipients.length) - 1));
  const { tried, error, template } = useTried(query, body);
  const judged = useJudged(tried, dataOf(body, recipients[chosen]));
  // What is not written yet is listed as still to do
  const errors = tried ? judged.errors.filter((each) => template || each.code !== REQUIRED) : [];
  const faults = (part) =>
    errors
      .filter((each) => each.part === part)
      .map((each) =>
        each.line && !part.includes(":") ? `Line ${each.line}: ${inWords(each)}` : inWords(each),
      )
      .join(". ");
  return {
    judged: { ...judged, errors },
    error,
    template,
    body,
    recipients,
    chosen,
    choose: setIndex,
    faults,
    hasErrors: !template && errors.length > 0,
  };
}

export function Check({ check }) {
  const { judged, error, template, recipients, chosen, choose } = check;
  if (error) return html`<${ErrorBox} error=${error} />`;
  if (!judged.able) return null;
  const jump = (place) =>
    template ? go(["templates", "edit", template], { part: place.part }) : select(place);
  return html`
    <${Preview}
      images=${check.body.content.inline_images}
      judged=${{ ...judged, variables: [] }}
      onJump=${jump}
    >
      <div class="pane-note stack small">
        ${
          recipients.length > 0
            ? html`
              <${SelectField}
                label="As it reaches"
                value=${String(chosen)}
                onChange=${(index) => choose(Number(index))}
                options=${recipients
                  .slice(0, MOST_SHOWN)
                  .map((each, index) => [String(index), each.address.email])}
              />
            `
            : html`
              <p class="soft">
                With the test data. The data of recipients is tried once they are named.
              </p>
            `
        }
        ${judged.errors.length === 0 && html`<${Lacking} check=${check} />`}
      </div>
    <//>
  `;
}

function Lacking({ check: { judged, body, recipients } }) {
  const known = useSettled(recipients, 200);
  const missing = useMemo(
    () => lacking(judged.variables, body, known),
    [judged.variables, known, JSON.stringify([body.substitution_data, body.metadata])],
  );
  return (
    missing.length > 0 &&
    html`
      <${Notice} tone="warn" icon="alert-triangle">
        <p>Recipients lack data that the content asks for. It stays empty in their mail.</p>
        <ul aria-label="Missing data">
          ${missing.slice(0, 12).map(
            ({ name, addresses }) => html`
              <li key=${name}>
                <code>${name}</code>
                :${" "}
                ${
                  addresses.length === known.length && known.length > 1
                    ? `all ${plural(known.length, "recipient")}`
                    : addresses.slice(0, 3).join(", ")
                }
                ${
                  addresses.length > 3 && addresses.length < known.length
                    ? ` and ${number(addresses.length - 3)} more`
                    : ""
                }
              </li>
            `,
          )}
        </ul>
      <//>
    `
  );
}

/** Select the place of an error in its field. */
function select({ part, line, column = 1, length = 1 }) {
  /** @type {HTMLTextAreaElement | null} */
  const field = document.querySelector(`[data-part="${part}"]`);
  if (!field) return;
  const lines = field.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  // The API counts characters, a field units of UTF-16
  const units = (count) => [...(lines[line - 1] ?? "")].slice(0, count).join("").length;
  field.focus();
  field.setSelectionRange(start + units(column - 1), start + units(column - 1 + length));
  field.scrollTop = (field.scrollHeight * (line - 1)) / lines.length;
}
