// Failure lab: rules by which the local sink fails on purpose, and the local parts that always do.
import { html, useState } from "../vendor/preact.js";
import { get, put, remove } from "../core/api.js";
import { number, plural } from "../core/format.js";
import { useLive } from "../core/live.js";
import { useInterval, useResource } from "../core/resource.js";
import { Badge, Button, IconButton } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { Behaviours } from "./behaviours.js";
import { EXAMPLES, RuleForm, STEPS } from "./failures-form.js";

const PATH = "local/failures";

export default function Failures() {
  const resource = useResource((signal) =>
    get(PATH, undefined, { signal }).then((answer) => answer.results),
  );
  const [form, setForm] = useState(null);
  useLive({
    event: (event) => ["delay", "bounce", "delivery"].includes(event.type) && resource.reload(),
  });
  useInterval(resource.reload, 5);
  const count = resource.data?.length ?? 0;
  const destroyAll = async () => {
    if (
      await confirm({
        title: "Delete all rules?",
        text:
          `${plural(count, "rule")} of the local sink ${count === 1 ? "is" : "are"} ` +
          `deleted, and mail is accepted again.`,
        action: "Delete all",
      })
    )
      await attempt(() => remove(PATH).then(resource.reload), "All rules deleted");
  };
  const add = html`<${Button} kind="primary" icon="plus" onClick=${() => setForm({})}>Add rule<//>`;
  return html`
    <div class="page">
      <${PageHead}
        title="Failure lab"
        about="Let deliveries fail on purpose, and see what the service and your program do."
      >
        <${CurlButton} path=${PATH} />
        ${
          count > 0 &&
          html`<${Button} icon="trash-2" kind="danger" onClick=${destroyAll}>Delete all<//>`
        }
        ${add}
      <//>
      <${Card} title="Rules" flush>
        <${Loaded} resource=${resource}>
          ${(rules) =>
            rules.length
              ? html`<${Rules} rules=${rules} change=${setForm} reload=${resource.reload} />`
              : html`
                <${Empty} level=${3} icon="flask-conical" title="No rule yet" actions=${add}>
                  All mail is accepted, except for the recipients below. Begin with an example, or
                  add a rule of your own.
                <//>
              `}
        <//>
      <//>
      <div class="columns">
        <${Examples} setForm=${setForm} />
        <${Card} title="Recipients that need no rule"><${Behaviours} /><//>
      </div>
      ${
        form &&
        html`<${RuleForm} rule=${form} onClose=${() => setForm(null)} onSaved=${resource.reload} />`
      }
    </div>
  `;
}

function Examples({ setForm }) {
  return html`
    <${Card} title="Examples" flush>
      <ul class="items" aria-label="Examples">
        ${EXAMPLES.map(
          (each) => html`
            <li key=${each.title}>
              <div class="grow">
                <div class="strong">${each.title}</div>
                <div>${each.about}</div>
              </div>
              <${Button} kind="small" onClick=${() => setForm(each.rule)}>
                Use<span class="visually-hidden"> ${each.title}</span>
              <//>
            </li>
          `,
        )}
      </ul>
    <//>
  `;
}

/** A rule's state: text, tone and icon of its badge. */
function state(rule) {
  if (!rule.enabled) return ["Paused", "", "pause"];
  return rule.times !== null && rule.applied >= rule.times
    ? ["Used up", "info", "check"]
    : ["In force", "warn", "zap"];
}

function effect(rule) {
  const answer =
    rule.code === null
      ? "closes the connection"
      : rule.code === 250
        ? "accepts"
        : `${rule.code} ${rule.text}`;
  return rule.delay ? `${answer}, after ${number(rule.delay)} s` : answer;
}

function Rules({ rules, change, reload }) {
  const pause = (rule) =>
    attempt(
      () => put(`${PATH}/${rule.id}`, { enabled: !rule.enabled }).then(reload),
      rule.enabled ? "Rule paused" : "Rule in force",
    );
  const destroy = async (rule) => {
    if (
      await confirm({
        title: "Delete the rule?",
        text: `It applied to ${rule.pattern} and was used ${plural(rule.applied, "time")}.`,
      })
    )
      await attempt(() => remove(`${PATH}/${rule.id}`).then(reload), "Rule deleted");
  };
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Rules">
      <table class="table">
        <thead>
          <tr>
            <th>Applies to</th>
            <th>Step</th>
            <th>What happens</th>
            <th class="right">Used</th>
            <th>State</th>
            <th><span class="visually-hidden">Change</span></th>
          </tr>
        </thead>
        <tbody>
          ${rules.map((rule) => {
            const [text, tone, icon] = state(rule);
            return html`
              <${Rule}
                key=${rule.id}
                rule=${rule}
                tone=${tone}
                icon=${icon}
                text=${text}
                pause=${pause}
                change=${change}
                destroy=${destroy}
              />
            `;
          })}
        </tbody>
      </table>
    </div>
    <p class="grid-foot">
      The first rule that matches applies. Deferred mail is tried again after about a second
      locally.
    </p>
  `;
}

function Rule({ rule, tone, icon, text, pause, change, destroy }) {
  return html`
    <tr>
      <td class="mono nowrap">${rule.pattern}</td>
      <td class="nowrap">${STEPS[rule.step]}</td>
      <td class="rule-effect">
        ${effect(rule)}
        ${rule.percent < 100 && html`<div class="soft">with a chance of ${rule.percent} %</div>`}
      </td>
      <td class="right nowrap">
        ${number(rule.applied)}
        ${rule.times !== null ? ` of ${number(rule.times)}` : ""}
      </td>
      <td><${Badge} tone=${tone} icon=${icon}>${text}<//></td>
      <td>
        <span class="row nowrap">
          <${IconButton}
            icon=${rule.enabled ? "pause" : "play"}
            kind="ghost small"
            label="${rule.enabled ? "Pause" : "Resume"} the rule for ${rule.pattern}"
            onClick=${() => pause(rule)}
          />
          <${IconButton}
            icon="pencil"
            kind="ghost small"
            label="Change the rule for ${rule.pattern}"
            onClick=${() => change(rule)}
          />
          <${IconButton}
            icon="trash-2"
            kind="ghost small"
            label="Delete the rule for ${rule.pattern}"
            onClick=${() => destroy(rule)}
          />
        </span>
      </td>
    </tr>
  `;
}
