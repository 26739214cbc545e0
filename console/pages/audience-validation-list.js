// Validate a recipient list: how far it is, its counts by result, and a copy of the good ones.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { number, plural, share } from "../core/format.js";
import { useInterval, useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { GOOD, PATH, RESULTS } from "../core/validation.js";
import { Badge, Button, CheckField, SelectField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Progress } from "../parts/csv.js";
import { ErrorBox, Loaded, Notice } from "../parts/feedback.js";
import { IdField } from "../parts/id-field.js";
import { Card } from "../parts/page.js";
import { PATH as LISTS } from "./audience-lists.js";

const OFTEN = 2;
const LONGEST_ID = 64;

const pathOf = (id) => `${PATH}/list/${encodeURIComponent(id)}`;
const proposal = (id) => `${id.slice(0, LONGEST_ID - "-valid".length)}-valid`;

export function ListValidation() {
  const id = route.value.query.list ?? "";
  const lists = useResource((signal) => get(LISTS, undefined, { signal }), []);
  return html`
    <${Card}
      title="A recipient list"
      actions=${id && html`<${CurlButton} method="POST" path=${pathOf(id)} />`}
    >
      <${Loaded} resource=${lists}>
        ${({ results }) =>
          results.length
            ? html`
              <div class="stack">
                <${SelectField}
                  label="List"
                  value=${id}
                  options=${[["", "Choose a list"], ...results.map((each) => [each.id, each.name])]}
                  onChange=${(list) => setQuery({ list })}
                />
                ${id && html`<${OneList} key=${id} id=${id} onCopied=${lists.reload} />`}
              </div>
            `
            : html`<p class="soft">There is no recipient list yet.</p>`}
      <//>
    <//>
  `;
}

function OneList({ id, onCopied }) {
  const resource = useResource((signal) => get(pathOf(id), undefined, { signal }), [id]);
  const running = resource.data?.results.status === "running";
  const begun = Boolean(resource.data?.results.started_at);
  useInterval(resource.reload, running ? OFTEN : 0);
  return html`
    <${Loaded} resource=${resource}>
      ${({ results }) => html`
        <div class="stack">
          ${begun && html`<${Outcome} job=${results} />`}
          ${
            !running &&
            html`
              <${StartForm}
                id=${id}
                again=${begun}
                onStarted=${(started) => {
                  resource.set(() => ({ results: started }));
                  onCopied();
                }}
              />
            `
          }
        </div>
      `}
    <//>
  `;
}

function StartForm({ id, again, onStarted }) {
  const [copies, setCopies] = useState(false);
  const [copyId, setCopyId] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const copy = { id: copyId.trim() || proposal(id), keep: GOOD };
      onStarted((await post(pathOf(id), copies ? { copy } : {})).results);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`
    <form class="stack" onSubmit=${start} novalidate>
      <${CheckField}
        label="Copy the good recipients to a new list"
        hint="Without those that are undeliverable or a typo. The list itself stays as it is."
        checked=${copies}
        onChange=${setCopies}
      />
      ${
        copies &&
        html`
          <${IdField}
            value=${copyId}
            onInput=${setCopyId}
            proposal=${proposal(id)}
            hint="Transmissions name the new list by it."
          />
        `
      }
      ${error && html`<${ErrorBox} error=${error} />`}
      <div class="row">
        <${Button} type="submit" kind="primary" icon="circle-check" busy=${busy}>
          ${again ? "Validate list again" : "Validate list"}
        <//>
      </div>
    </form>
  `;
}

function Outcome({ job }) {
  const copy = job.copy;
  return html`
    <section class="stack small" aria-label="Validation of the list" role="status">
      ${
        job.status === "running"
          ? html`<${Progress} label="Validated" done=${job.checked} total=${job.total} />`
          : html`
            <p class="soft">
              ${plural(job.checked, "recipient")} validated <${Time} at=${job.ended_at} />
            </p>
          `
      }
      ${job.problem && html`<${Notice} tone="warn" icon="alert-triangle">${job.problem}<//>`}
      <table class="table">
        <thead>
          <tr><th>Result</th><th class="right">Recipients</th></tr>
        </thead>
        <tbody>
          ${Object.entries(RESULTS).map(
            ([result, [text, tone, icon]]) => html`
              <tr key=${result}>
                <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
                <td class="right num">
                  ${number(job.counts[result])}
                  ${" "}<span class="soft">${share(job.counts[result], job.checked)}</span>
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${
        copy?.total_accepted_recipients &&
        html`
          <p>
            ${plural(copy.total_accepted_recipients, "recipient")} copied to
            ${" "}<a href=${href(["audience", "lists", copy.id])}>${copy.name}</a>
          </p>
        `
      }
    </section>
  `;
}
