// The list of A/B tests.
import { html } from "../vendor/preact.js";
import { AB_GRANT, AB_TESTS, METRICS } from "../core/ab-tests.js";
import { get } from "../core/api.js";
import { number } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, who } from "../core/service.js";
import { Badge, Button, Copyable, SelectField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { AbTestForm } from "./ab-tests-form.js";
import { Section } from "./templates-section.js";

const STATUSES = {
  draft: ["Draft", "info", "square-pen"],
  scheduled: ["Scheduled", "info", "calendar"],
  running: ["Running", "warn", "play"],
  completed: ["Completed", "good", "circle-check"],
  cancelled: ["Cancelled", "", "ban"],
};

export function Status({ status }) {
  const [text, tone, icon] = STATUSES[status] ?? [status, ""];
  return html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`;
}

export function AbTestList() {
  if (!may(AB_GRANT))
    return html`
      <${Section} current="ab-tests">
        <${Empty} icon="key" title="${who()} may not see A/B tests">
          It takes the grant <code>${AB_GRANT}</code>.
        <//>
      <//>
    `;
  return html`<${Tests} />`;
}

function Tests() {
  const { status = "", form } = route.value.query;
  const resource = useResource(
    (signal) => get(AB_TESTS, { status }, { signal }).then((answer) => answer.results),
    [status],
  );
  const add = html`
    <${Button} kind="primary" icon="plus" onClick=${() => setQuery({ form: "new" })}>
      New A/B test
    <//>
  `;
  return html`
    <${Section}
      current="ab-tests"
      about="Which of several templates is opened or clicked by more recipients."
      actions=${html`<${CurlButton} path=${AB_TESTS} />${add}`}
    >
      <div class="toolbar">
        <div>
          <${SelectField}
            hideLabel
            label="Status"
            value=${status}
            onChange=${(each) => setQuery({ status: each })}
            options=${[
              ["", "Every status"],
              ...Object.entries(STATUSES).map(([each, [text]]) => [each, text]),
            ]}
          />
        </div>
      </div>
      <${Results} resource=${resource} status=${status} add=${add} />
      ${
        form === "new" &&
        html`
          <${AbTestForm}
            ids=${(resource.data ?? []).map((each) => each.id)}
            onClose=${() => setQuery({ form: "" })}
            onSaved=${(id) => go(["templates", "ab-tests", id])}
          />
        `
      }
    <//>
  `;
}

function Results({ resource, status, add }) {
  return html`
    <${Card} flush>
      <${Loaded} resource=${resource}>
        ${(tests) =>
          tests.length
            ? html`<${Table} tests=${tests} />`
            : status
              ? html`
                <${Empty}
                  icon="search"
                  title="No test has this status"
                  actions=${html`<${Button} onClick=${() => setQuery({ status: "" })}>Show all<//>`}
                />
              `
              : html`
                <${Empty} icon="split" title="No A/B test yet" actions=${add}>
                  Publish two templates, and send each recipient a transmission that names the test
                  in place of a template. The test divides the messages between them.
                <//>
              `}
      <//>
    <//>
  `;
}

function Table({ tests }) {
  const metric = (each) => METRICS.find(([id]) => id === each.metric)?.[1] ?? "–";
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="A/B tests">
      <table class="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Status</th>
            <th>Id</th>
            <th>Templates</th>
            <th>Metric</th>
            <th>Winner</th>
            <th>Start</th>
          </tr>
        </thead>
        <tbody>
          ${tests.map(
            (each) => html`
              <tr key=${`${each.subaccount_id}/${each.id}`}>
                <td>
                  <a class="strong" href=${href(["templates", "ab-tests", each.id])}>
                    ${each.name}
                  </a>
                </td>
                <td><${Status} status=${each.status} /></td>
                <td><${Copyable} text=${each.id} /></td>
                <td class="num">${number(1 + (each.variants?.length ?? 0))}</td>
                <td>${metric(each)}</td>
                <td>${each.winning_template_id ?? "–"}</td>
                <td><${Time} at=${each.start_time} /></td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}
