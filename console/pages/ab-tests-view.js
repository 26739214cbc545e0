// One A/B test: what each template reached, who won, and what can be done with the test.
import { html } from "../vendor/preact.js";
import {
  AB_GRANT,
  draftPath,
  hasEnded,
  METRICS,
  MODES,
  percent,
  resultsOf,
  testPath,
  wilson,
} from "../core/ab-tests.js";
import { get, post, remove } from "../core/api.js";
import { exactTime, number } from "../core/format.js";
import { useInterval, useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Copyable, SelectField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded, Notice, SkeletonRows } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { Card, PageHead } from "../parts/page.js";
import { AbTestList, Status } from "./ab-tests.js";
import { AbTestForm } from "./ab-tests-form.js";

export function AbTestView({ id }) {
  return may(AB_GRANT) ? html`<${View} id=${id} />` : html`<${AbTestList} />`;
}

function View({ id }) {
  const { version = "", form } = route.value.query;
  const resource = useResource((signal) => load(id, version, signal), [id, version]);
  useInterval(() => {
    if (["scheduled", "running"].includes(resource.data?.latest.status)) resource.reload();
  }, 3);
  const close = () => setQuery({ form: "" });
  return html`
    <div class="page">
      <${Loaded} resource=${resource}>
        ${({ latest, test, of }) => html`
          <${Head}
            latest=${latest}
            of=${of}
            version=${version}
            test=${test}
            id=${id}
            resource=${resource}
          />
          ${
            of !== version
              ? html`<${Card}><${SkeletonRows} /><//>`
              : test
                ? html`
                  <${Outcome} test=${test} current=${test === latest} />
                  <${Card} flush title="Results"><${Results} test=${test} /><//>
                  <${Facts} test=${test} />
                `
                : html`
                  <${Card}>
                    <${Empty} icon="trash-2" title="This version is not here">
                      It was deleted, or there was none.
                    <//>
                  <//>
                `
          }
          ${
            form === "change" &&
            test === latest &&
            html`<${AbTestForm} test=${latest} onClose=${close} onSaved=${resource.reload} />`
          }
        `}
      <//>
    </div>
  `;
}

function Head({ latest, of, version, test, id, resource }) {
  return html`
    <${PageHead} title=${latest.name} back=${["A/B tests", href(["templates", "ab-tests"])]}>
      ${of === version && test && html`<${Status} status=${test.status} />`}
      ${
        latest.version > 1 &&
        html`
          <div>
            <${SelectField}
              hideLabel
              label="Version"
              value=${version || String(latest.version)}
              options=${versions(latest)}
              onChange=${(each) =>
                setQuery({ version: Number(each) === latest.version ? "" : each })}
            />
          </div>
        `
      }
      <${CurlButton} path=${testPath(id)} query=${{ version }} />
      ${
        of === version &&
        test === latest &&
        html`<${Actions} test=${latest} reload=${resource.reload} />`
      }
    <//>
  `;
}

/** The latest version of a test, and version `of` it; null if that was deleted. */
async function load(id, version, signal) {
  const read = (query) => get(testPath(id), query, { signal }).then(({ results }) => results);
  const earlier = (error) => {
    if (error.status !== 404) throw error;
    return null;
  };
  const latest = await read();
  const isLatest = !version || Number(version) === latest.version;
  return { latest, of: version, test: isLatest ? latest : await read({ version }).catch(earlier) };
}

/** The choice of a version, the latest first. */
const versions = (latest) =>
  Array.from({ length: latest.version }, (_, index) => {
    const version = latest.version - index;
    return [String(version), `Version ${version}${index ? "" : ", the latest"}`];
  });

function Actions({ test, reload }) {
  const ended = hasEnded(test);
  const cancel = async () => {
    if (
      await confirm({
        title: `Cancel ${test.name}?`,
        text: "It chooses no winner: its mail gets the default template from now on.",
        action: "Cancel test",
      })
    )
      await attempt(() => post(`${testPath(test.id)}/cancel`).then(reload), "Cancelled");
  };
  const destroy = async () => {
    const draft = test.status === "draft";
    const text =
      draft && test.version > 1
        ? "The test is again as it was before this draft."
        : "Transmissions that name it fail from now on. Its results are lost.";
    if (!(await confirm({ title: `Delete ${test.name}?`, text, typed: draft ? "" : test.name })))
      return;
    if (await attempt(() => remove((draft ? draftPath : testPath)(test.id)), "Deleted"))
      go(["templates", "ab-tests"]);
  };
  return html`
    ${
      test.status !== "running" &&
      html`
        <${Button}
          icon=${ended ? "rotate-ccw" : "pencil"}
          onClick=${() => setQuery({ form: "change" })}
        >
          ${ended ? "New version" : test.status === "draft" ? "Change or schedule" : "Change"}
        <//>
      `
    }
    ${
      ["scheduled", "running"].includes(test.status)
        ? html`<${Button} icon="ban" kind="danger" onClick=${cancel}>Cancel test<//>`
        : html`<${Button} icon="trash-2" kind="danger" onClick=${destroy}>Delete<//>`
    }
  `;
}

function Outcome({ test, current }) {
  if (test.status !== "completed") return null;
  if (!test.winning_template_id)
    return html`
      <${Notice}>
        This test only measured${current ? ": its mail gets the default template" : ""}.
      <//>
    `;
  return html`
    <${Notice} tone="good" icon="circle-check">
      Winner:${" "}
      <a class="strong" href=${href(["templates", "edit", test.winning_template_id])}>
        ${test.winning_template_id}
      </a>
      . ${current && "Mail that is sent with this test gets it from now on. "}If none is certain
      enough, the default template wins.
    <//>
  `;
}

function Results({ test }) {
  const metric = METRICS.find(([id]) => id === test.metric)?.[1] ?? "Engaged";
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Results">
      <table class="table">
        <thead>
          <tr>
            <th>Template</th>
            <th>Share</th>
            <th class="right">Accepted</th>
            <th class="right">${metric}</th>
            <th class="right">Rate</th>
            <th class="right">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          ${resultsOf(test).map((each, index) => {
            const interval = wilson(each.engaged, each.accepted);
            return html`
              <tr key=${each.template_id}>
                <td>
                  <a class="strong" href=${href(["templates", "edit", each.template_id])}>
                    ${each.template_id}
                  </a>
                  ${index === 0 && html` <${Badge}>Default<//>`}
                  ${
                    each.template_id === test.winning_template_id &&
                    html` <${Badge} tone="good" icon="check">Winner<//>`
                  }
                </td>
                <td class="num">
                  ${
                    each.percent !== undefined
                      ? `${number(each.percent)} %`
                      : number(each.sample_size)
                  }
                </td>
                <td class="right">${number(each.accepted)}</td>
                <td class="right">${number(each.engaged)}</td>
                <td class="right">
                  ${interval ? percent(Math.min(1, each.engaged / each.accepted)) : "–"}
                </td>
                <td class="right nowrap">
                  ${interval ? `${percent(interval[0])} to ${percent(interval[1])}` : "–"}
                </td>
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
    <p class="soft pane-note">
      The interval is Wilson's score interval: the true rate lies in it with 95 percent confidence.
      The winner is decided by the probability of being the best.
    </p>
  `;
}

function Facts({ test }) {
  const facts = [
    ["Mode", MODES.find(([id]) => id === test.test_mode)?.[1]],
    ["Confidence", test.confidence_level && percent(test.confidence_level)],
    ["Most messages", test.total_sample_size && number(test.total_sample_size)],
    ["Start", test.start_time && exactTime(test.start_time)],
    ["End", test.end_time && exactTime(test.end_time)],
    [
      "Wait for engagement",
      test.engagement_timeout !== undefined && `${number(test.engagement_timeout)} h`,
    ],
    ["Version", number(test.version)],
  ].filter(([, value]) => value);
  return html`
    <${Card} title="Settings">
      <dl class="facts">
        <dt>Id</dt>
        <dd><${Copyable} text=${test.id} /></dd>
        ${facts.map(([term, value]) => html`<dt key=${term}>${term}</dt><dd>${value}</dd>`)}
      </dl>
      <${LastChanged} resource="ab-test" id=${test.id} of=${test.version} />
    <//>
  `;
}
