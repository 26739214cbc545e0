// What becomes of a template with its test data: errors and missing data first, then the mail.
import { html } from "../vendor/preact.js";
import { withImages } from "../core/inline-images.js";
import { inWords } from "../core/messages.js";
import { route, setQuery } from "../core/router.js";
import { who } from "../core/service.js";
import { Icon } from "../parts/controls.js";
import { Empty, Notice, SkeletonRows } from "../parts/feedback.js";
import { MailStage, PreviewFrame } from "../parts/mail-stage.js";
import { Tabs, TabPanel } from "../parts/tabs.js";
import { MJML, PARTS, SOURCE } from "../core/templates.js";

const NAMES = Object.fromEntries([...PARTS, MJML, SOURCE]);
const nameOf = (part) => NAMES[part] ?? part.replace("Header:", "");

/**
 * `onJump` gets the place of an error when it is clicked; the children come before the errors.
 * `images` are those that the HTML names.
 */
export function Preview({ judged, onJump, images, children }) {
  const { errors, preview, pending, able } = judged;
  return html`
    <section class="card template-preview" aria-label="Preview">
      <header><h2>Preview</h2></header>
      ${children}
      <div role="status">
        ${errors.length > 0 && html`<${Faults} errors=${errors} onJump=${onJump} />`}
        ${errors.length === 0 && html`<${Missing} variables=${judged.variables} />`}
      </div>
      ${
        !able
          ? html`
            <${Empty} icon="key" title="${who()} may not preview">
              The grant for it is "Templates: preview".
            <//>
          `
          : preview
            ? html`<${Mail} preview=${preview} images=${images} stale=${errors.length > 0} />`
            : pending
              ? html`<${SkeletonRows} rows=${3} />`
              : null
      }
    </section>
  `;
}

function Faults({ errors, onJump }) {
  return html`
    <div class="pane-note">
      <${Notice} tone="bad" icon="circle-alert">
        <ul class="stack small" aria-label="Errors">
          ${errors.slice(0, 20).map(
            (each, index) => html`
              <li key=${index}>
                ${
                  each.line
                    ? html`
                      <button
                        type="button"
                        class="plain-link strong"
                        onClick=${() => onJump({ ...each })}
                      >
                        ${nameOf(each.part)}, line ${each.line}
                      </button>
                      :${" "}
                    `
                    : each.part && html`<span class="strong">${nameOf(each.part)}: </span>`
                }
                ${inWords(each)}
              </li>
            `,
          )}
        </ul>
      <//>
    </div>
  `;
}

function Missing({ variables }) {
  const names = [
    ...new Set(variables.filter((each) => each.missing && !each.optional).map((each) => each.name)),
  ];
  return (
    names.length > 0 &&
    html`
      <div class="pane-note">
        <${Notice} tone="warn" icon="alert-triangle">
          Not in the test data:${" "}
          ${names
            .slice(0, 12)
            .map((each, index) => html`${index > 0 && ", "}<code key=${each}>${each}</code>`)}
          ${names.length > 12 && " and more"}.
        <//>
      </div>
    `
  );
}

function Mail({ preview, images, stale }) {
  const tabs = [...PARTS, SOURCE]
    .filter(([key]) => preview[key] !== undefined)
    .map(([key, label]) => [key, label]);
  const current = tabs.find(([key]) => key === route.value.query.view)?.[0] ?? tabs[0]?.[0];
  const { from, subject, reply_to: replyTo } = preview;
  return html`
    ${
      stale &&
      html`
        <p class="pane-note row soft"><${Icon} name="clock" />The last version without an error:</p>
      `
    }
    ${
      subject !== undefined && html`<${Facts} from=${from} subject=${subject} replyTo=${replyTo} />`
    }
    ${
      current &&
      html`
        <div class="card-tabs">
          <${Tabs}
            id="view"
            label="Parts of the preview"
            tabs=${tabs}
            current=${current}
            onChange=${(key) => setQuery({ view: key === tabs[0][0] ? "" : key })}
          />
        </div>
        <${TabPanel} id="view" current=${current}>
          ${
            current === "html"
              ? html`<${Stage} preview=${preview} images=${images} />`
              : html`
                <pre class="mail-text pane-note" tabindex="0" aria-label="Preview of the part">
                  ${preview[current]}
                </pre>
              `
          }
        <//>
      `
    }
  `;
}

function Facts({ from, subject, replyTo }) {
  return html`
    <dl class="facts small message-head">
      <dt>From</dt>
      <dd>
        ${from?.name ? html`${from.name} <span class="soft">${from.email}</span>` : from?.email}
      </dd>
      <dt>Subject</dt>
      <dd class="strong">${subject}</dd>
      ${replyTo && html`<dt>Reply to</dt><dd>${replyTo}</dd>`}
    </dl>
  `;
}

function Stage({ preview, images }) {
  return html`
    <${MailStage}
      id="preview"
      source=${preview.html}
      frame=${(props) => html`
        <${PreviewFrame}
          key=${String(props.remote)}
          source=${withImages(preview.html, images)}
          ...${props}
        />
      `}
    />
  `;
}
