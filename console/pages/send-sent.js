// What a transmission sent, before substitution: its parts, sender, headers and files.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { bytes, exactTime, label } from "../core/format.js";
import { withImages } from "../core/inline-images.js";
import { useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { PARTS, SOURCE } from "../core/templates.js";
import { Badge } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Loaded, Notice } from "../parts/feedback.js";
import { MailStage, PreviewFrame } from "../parts/mail-stage.js";
import { Card } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";

export function SentContent({ id }) {
  const path = `api/v1/transmissions/${encodeURIComponent(id)}/content`;
  const resource = useResource((signal) => get(path, undefined, { signal }), [id]);
  return html`
    <${Card} title="Content" flush actions=${html`<${CurlButton} path=${path} />`}>
      <${Loaded} resource=${resource}>
        ${({ results }) => html`<${Sent} id=${id} sent=${results} />`}
      <//>
    <//>
  `;
}

function Sent({ id, sent }) {
  const { content, truncated } = sent;
  const tabs = [...PARTS, SOURCE]
    .filter(([part]) => content[part])
    .map(([part, name]) => [part, name]);
  // Files have no data here, so their images show their alt texts instead
  const shown = withImages(content.html);
  const current = tabs.find(([part]) => part === route.value.query.part)?.[0] ?? tabs[0]?.[0];
  return html`
    <div class="pane-note stack small">
      ${
        !sent.final &&
        html`
          <${Notice} icon="clock">
            This is the content as it was requested. It is final when the transmission starts.
          <//>
        `
      }
      ${
        truncated.length > 0 &&
        html`
          <${Notice} tone="warn" icon="alert-triangle">
            Too long to be shown whole: ${truncated.map(label).join(", ")}.
          <//>
        `
      }
      <${Facts} sent=${sent} />
    </div>
    ${
      current &&
      html`
        <div class="card-tabs">
          <${Tabs}
            id="part"
            label="Parts of the content"
            tabs=${tabs}
            current=${current}
            onChange=${(part) => setQuery({ part: part === tabs[0][0] ? "" : part })}
          />
        </div>
        <${TabPanel} id="part" current=${current}>
          ${
            current === "html"
              ? html`<${Stage} id=${id} content=${content} shown=${shown} />`
              : html`
                <pre class="mail-text pane-note" tabindex="0" aria-label="The part">
                  ${content[current]}
                </pre>
              `
          }
        <//>
      `
    }
  `;
}

function Stage({ id, content, shown }) {
  return html`
    <${MailStage}
      id=${id}
      source=${content.html}
      frame=${(props) => html`
        <${PreviewFrame} key=${String(props.remote)} source=${shown} ...${props} />
      `}
    />
  `;
}

function Facts({ sent }) {
  const { content, template_id: template, ab_test_id: test, template_version: version } = sent;
  const { from, subject, reply_to: replyTo, headers = {} } = content;
  const files = [
    ...(content.attachments ?? []),
    ...(content.inline_images ?? []).map((each) => ({ ...each, inline: true })),
  ];
  const facts = factsOf({ template, version, sent, test, from, subject, replyTo, headers, files });
  return html`
    <dl class="facts small">
      ${facts.map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
    </dl>
  `;
}

function factsOf({ template, version, sent, test, from, subject, replyTo, headers, files }) {
  return [
    [
      "Template",
      template &&
        html`
          ${
            may("templates/view")
              ? html`<a href=${href(["templates", "edit", template])}>${template}</a>`
              : template
          }
          ${version ? `, version ${version}` : ""}
          ${" "}
          ${sent.use_draft_template && html`<${Badge}>draft<//>`}
        `,
    ],
    ["A/B test", test],
    [
      "From",
      from && (from.email ? html`${from.name} <span class="soft">${from.email}</span>` : from),
    ],
    ["Subject", subject && html`<span class="strong">${subject}</span>`],
    ["Reply to", replyTo],
    [
      "Headers",
      Object.keys(headers).length > 0 &&
        Object.entries(headers).map(
          ([name, value]) => html`
            <div key=${name}><span class="soft">${name}:</span> ${value}</div>
          `,
        ),
    ],
    [
      "Files",
      files.length > 0 &&
        html`
          <ul aria-label="Files">
            ${files.map(
              (each, index) => html`
                <li key=${index}>
                  ${each.name}
                  ${" "}
                  <span class="soft">
                    ${each.type}, ${bytes(each.size)}
                    ${each.inline ? ", in the HTML" : ""}
                  </span>
                </li>
              `,
            )}
          </ul>
        `,
    ],
    ["Stored until", exactTime(sent.stored_until)],
  ].filter(([, value]) => value);
}
