// The account, how much of its plan it has used, and its options.
import { html, useState } from "../vendor/preact.js";
import { get, put } from "../core/api.js";
import { exactTime, label, number } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { account, may } from "../core/service.js";
import { Badge, Button, CheckField, Copyable, Icon, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { Card, Tiles } from "../parts/page.js";

const PATH = "api/v1/account";
const QUERY = { include: "usage" };

/** Option of the API → its label, and what it does. */
const OPTIONS = {
  rest_tracking_default: [
    "Track mail over HTTP",
    "Opens and clicks of messages that say nothing about it.",
  ],
  smtp_tracking_default: [
    "Track mail over SMTP",
    "Opens and clicks of messages that say nothing about it.",
  ],
  click_tracking: ["Click tracking", "Off: no link is tracked, whatever a message says."],
  initial_open_pixel_tracking: [
    "Track first opens",
    "A second pixel at the top sees openings of messages that are cut.",
  ],
  transactional_default: [
    "Mail is transactional",
    "Messages that say nothing about it reach those who refuse marketing mail.",
  ],
  transactional_unsub: [
    "Unsubscribe header in transactional mail",
    "Otherwise only other mail has List-Unsubscribe.",
  ],
  inline_seeds: ["Inline seeding", "Off: no campaign of the account or its subaccounts is seeded."],
};

export function Account() {
  const resource = useResource((signal) => get(PATH, QUERY, { signal }));
  const counts = useResource((signal) => get("api/v1/counts", undefined, { signal }));
  const [editing, setEditing] = useState(false);
  return html`
    <${Loaded} resource=${resource}>
      ${({ results }) => html`
        <div class="stack">
          ${
            results.usage &&
            html`
              <${Tiles}
                tiles=${[
                  tile("Messages today", results.usage.day),
                  tile("Messages this month", results.usage.month),
                ]}
              />
            `
          }
          <div class="columns">
            <div class="stack">
              <${AccountCard} results=${results} setEditing=${setEditing} />
              <${Options} results=${results} />
            </div>
            <${Counts} counts=${counts} />
          </div>
          ${
            editing &&
            html`
              <${AccountForm}
                former=${results}
                onClose=${() => setEditing(false)}
                onSaved=${(changes) => {
                  if (account.value) account.value = { ...account.value, ...changes };
                  resource.reload();
                }}
              />
            `
          }
        </div>
      `}
    <//>
  `;
}

function Counts({ counts }) {
  return html`
    <${Card} title="What it has">
      <${Loaded} resource=${counts}>
        ${(answer) => html`
          <dl class="facts">
            ${Object.entries(answer.results).map(
              ([kind, each]) => html`
                <dt key=${kind}>
                  ${
                    kind === "api_keys"
                      ? "API keys"
                      : kind === "ab_tests"
                        ? "A/B tests"
                        : label(kind)
                  }
                </dt>
                <dd class="num">${number(each.count)}${each.more ? "+" : ""}</dd>
              `,
            )}
          </dl>
        `}
      <//>
    <//>
  `;
}

function Options({ results }) {
  return html`
    <${Card} title="Options" flush>
      <ul class="items" aria-label="Options">
        ${Object.entries(OPTIONS).map(
          ([name, [text, hint]]) => html`
            <li key=${name}>
              <div class="grow">
                <div class="strong">${text}</div>
                <div>${hint}</div>
              </div>
              <${State} on=${results.options[name]} />
            </li>
          `,
        )}
      </ul>
    <//>
  `;
}

function AccountCard({ results, setEditing }) {
  return html`
    <${Card}
      title="Account"
      actions=${html`
        <span class="row">
          <${CurlButton} path=${PATH} query=${QUERY} />
          ${
            may("account/manage") &&
            html`
              <${Button} kind="small" icon="pencil" onClick=${() => setEditing(true)}>
                Change
              <//>
            `
          }
        </span>
      `}
    >
      <${Facts} account=${results} />
      <${LastChanged} resource="account" id=${results.customer_id} of=${results} />
    <//>
  `;
}

const tile = (name, period) => ({
  label: name,
  value: number(period.used),
  note: period.limit < 0 ? "no limit" : `of ${number(period.limit)}`,
});
const State = ({ on }) => html`
  <${Badge} tone=${on ? "good" : ""} icon=${on ? "check" : "x"}>${on ? "On" : "Off"}<//>
`;

function Facts({ account: each }) {
  const { subscription: plan, pending_subscription: next, pending_cancellation: end } = each;
  return html`
    <dl class="facts">
      <dt>Name</dt>
      <dd>${each.company_name}</dd>
      <dt>Id</dt>
      <dd><${Copyable} text=${String(each.customer_id)} /></dd>
      <dt>State</dt>
      <dd>
        <${Badge}
          tone=${each.status === "active" ? "good" : "bad"}
          icon=${each.status === "active" ? "circle-check" : "ban"}
        >
          ${label(each.status)}
        <//>
        ${
          each.status_reason_category &&
          html` <span class="soft">${label(each.status_reason_category.toLowerCase())}</span>`
        }
      </dd>
      <dt>Plan</dt>
      <dd>
        ${plan?.name ?? "None"}
        ${
          next &&
          html`<span class="soft">, from ${exactTime(next.effective_date)}: ${next.name}</span>`
        }
      </dd>
      ${
        end &&
        html`
          <dt>Ends</dt>
          <dd class="row"><${Icon} name="alert-triangle" />${exactTime(end.effective_date)}</dd>
        `
      }
      <dt>Two factors</dt>
      <dd>${each.tfa_required ? "Required of every person" : "Not required"}</dd>
      <dt>Created</dt>
      <dd>${exactTime(each.created)}</dd>
    </dl>
  `;
}

function AccountForm({ former, onClose, onSaved }) {
  const [name, setName] = useState(former.company_name);
  const [factors, setFactors] = useState(former.tfa_required);
  const [options, setOptions] = useState(former.options);
  const save = async () => {
    const changed = Object.fromEntries(
      Object.keys(OPTIONS)
        .filter((each) => options[each] !== former.options[each])
        .map((each) => [each, options[each]]),
    );
    const changes = { company_name: name.trim(), tfa_required: factors };
    await put(PATH, { ...changes, options: changed });
    onSaved(changes);
  };
  return html`
    <${Dialog}
      wide
      title="Change account"
      disabled=${!name.trim()}
      onClose=${onClose}
      onSubmit=${save}
    >
      <${TextField} label="Name" maxlength="256" value=${name} onInput=${setName} />
      <${CheckField}
        toggle
        label="Require two factors"
        hint="Of every person who signs in to the account."
        checked=${factors}
        onChange=${setFactors}
      />
      <fieldset class="checks wide-checks">
        <legend class="label">Options</legend>
        ${Object.entries(OPTIONS).map(
          ([each, [text, hint]]) => html`
            <${CheckField}
              key=${each}
              toggle
              label=${text}
              hint=${hint}
              checked=${options[each]}
              onChange=${(on) => setOptions({ ...options, [each]: on })}
            />
          `,
        )}
      </fieldset>
    <//>
  `;
}
