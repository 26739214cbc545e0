// Inline seeding: copies of large campaigns to seed addresses. Which campaigns, for whom, and how
// far.
import { html, useState } from "../vendor/preact.js";
import { get, post, put } from "../core/api.js";
import { exactTime, number, plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { may, shownSubaccount, subaccountName } from "../core/service.js";
import { Badge, Button, CheckField, TextField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { attempt, Empty, Loaded, Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { Segments } from "../parts/tabs.js";

const CONFIG = "api/v1/inline-seeds/config";
const OPTIONS = "api/v1/inline-seeds/options";
const STATUS = "api/v1/inline-seeds/status";

/** Field → its label, least and greatest value, default, and what it is counted in. */
/** @type {Record<string, [string, number, number, number, string]>} */
const NUMBERS = {
  threshold: [
    "Messages before seeding",
    1000,
    1000000,
    10000,
    "messages that a campaign has from one domain",
  ],
  duration: ["Spread over", 20, 720, 30, "minutes"],
  reset: ["Again after", 22, 168, 24, "hours"],
};
const MOST_RULES = 5;

export function Seeding() {
  const config = useResource((signal) => get(CONFIG, undefined, { signal }));
  const seeds = useResource((signal) => get("api/v1/seeds", undefined, { signal }));
  const account = useResource((signal) =>
    may("account/view") ? get("api/v1/account", undefined, { signal }) : null,
  );
  const [editing, setEditing] = useState(false);
  const off = account.data?.results.options.inline_seeds === false;
  return html`
    <div class="stack">
      <p class="soft">
        When a campaign has reached its number of messages, copies of one of them go to seed
        addresses at mailbox providers, to see where they arrive.
      </p>
      ${
        off &&
        html`
          <${Notice} tone="warn" icon="alert-triangle">
            The account has inline seeding switched off, for all of it. It is one of the options
            under Account.
          <//>
        `
      }
      <div class="columns">
        <${Campaigns} config=${config} setEditing=${setEditing} />
        <div class="stack">
          <${Switches} />
          <${SeedAddresses} seeds=${seeds} />
        </div>
      </div>
      <${Status} />
      ${
        editing &&
        html`
          <${ConfigForm}
            former=${config.data?.results}
            onClose=${() => setEditing(false)}
            onSaved=${config.reload}
          />
        `
      }
    </div>
  `;
}

function Campaigns({ config, setEditing }) {
  return html`
    <${Card}
      title="Campaigns"
      actions=${html`
        <span class="row">
          <${CurlButton} path=${CONFIG} />
          ${
            config.data &&
            html`
              <${Button} kind="small" icon="pencil" onClick=${() => setEditing(true)}>
                ${isSet(config) ? "Change" : "Set up"}
              <//>
            `
          }
        </span>
      `}
    >
      <${Loaded} resource=${config}>
        ${({ results }) => html`<${Config} config=${results} />`}
      <//>
    <//>
  `;
}

function SeedAddresses({ seeds }) {
  return html`
    <${Card} title="Seed addresses">
      <${Loaded} resource=${seeds}>
        ${({ results }) =>
          results.length
            ? html`
              <div class="stack small">
                <p class="soft">
                  ${plural(results.length, "address", "addresses")} of the deployment
                </p>
                <ul>
                  ${results
                    .slice(0, 10)
                    .map((each) => html`<li class="mono clip" key=${each}>${each}</li>`)}
                </ul>
                ${
                  results.length > 10 &&
                  html`<p class="soft">And ${number(results.length - 10)} more.</p>`
                }
              </div>
            `
            : html`<p class="soft">The deployment has none, so nothing is seeded.</p>`}
      <//>
    <//>
  `;
}

const isSet = (config) => config.data?.results.threshold !== undefined;

function Config({ config }) {
  if (config.threshold === undefined)
    return html`
      <${Empty} level=${3} icon="tag" title="No campaign is seeded">
        Say which campaigns are, by their ids or the beginnings of these.
      <//>
    `;
  const rules = config.match.length ? config.match : config.exclude;
  return html`
    <dl class="facts">
      <dt>${config.match.length ? "Only" : "All but"}</dt>
      <dd class="row wraps">${rules.map((rule) => html`<code key=${rule}>${rule}</code>`)}</dd>
      ${Object.entries(NUMBERS).map(
        ([name, [label, , , , unit]]) => html`
          <dt key=${name}>${label}</dt>
          <dd class="num">${number(config[name])} <span class="soft">${unit}</span></dd>
        `,
      )}
    </dl>
  `;
}

/** One switch for what is acted for, or one for the account and each subaccount. */
function Switches() {
  const resource = useResource((signal) => get(OPTIONS, undefined, { signal }));
  const change = (id, enabled) =>
    attempt(
      () =>
        put(OPTIONS, { enabled }, { headers: { "X-SVC-SUBACCOUNT": id } }).then(resource.reload),
      enabled ? "Switched on" : "Switched off",
    );
  return html`
    <${Card} title="For whom" actions=${html`<${CurlButton} path=${OPTIONS} />`}>
      <${Loaded} resource=${resource}>
        ${({ results }) => {
          const rows = Array.isArray(results)
            ? results
            : [{ ...results, subaccount_id: Number(shownSubaccount()) || undefined }];
          return html`
            <div class="stack">
              <ul class="stack small" aria-label="Seeding of">
                ${rows.map(
                  ({ subaccount_id: id, enabled }) => html`
                    <li key=${id ?? 0}>
                      <${CheckField}
                        toggle
                        label=${id ? subaccountName(id) : "Primary account"}
                        checked=${enabled}
                        onChange=${(on) => change(String(id ?? 0), on)}
                      />
                    </li>
                  `,
                )}
              </ul>
              ${
                results.account_enabled === false &&
                html`<p class="soft">The account has it switched off for all subaccounts.</p>`
              }
              <p class="hint soft">
                Switching off does not stop copies that are already on their way.
              </p>
            </div>
          `;
        }}
      <//>
    <//>
  `;
}

function Status() {
  const resource = useResource((signal) => get(STATUS, undefined, { signal }));
  return html`
    <${Card} title="Counted campaigns" flush actions=${html`<${CurlButton} path=${STATUS} />`}>
      <${Loaded} resource=${resource}>
        ${({ results }) =>
          results.length
            ? html`
              <div class="scroll-x" tabindex="0" role="region" aria-label="Counted campaigns">
                <table class="table">
                  <thead>
                    <tr>
                      <th>Campaign</th>
                      <th>Sending domain</th>
                      <th class="right">Messages</th>
                      <th>State</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${results.map(
                      (each) => html`
                        <${StatusRow}
                          key=${`${each.subaccount_id} ${each.campaign} ${each.sending_domain}`}
                          campaign=${each}
                        />
                      `,
                    )}
                  </tbody>
                </table>
              </div>
            `
            : html`
              <${Empty} level=${3} icon="chart-line" title="No campaign counted yet">
                Messages are counted while seeding is on and their campaign is one of those above.
              <//>
            `}
      <//>
    <//>
  `;
}

function StatusRow({ campaign }) {
  return html`
    <tr>
      <td class="wrap">
        ${campaign.campaign}
        ${
          campaign.subaccount_id
            ? html`
              ${" "}
              <${Badge} icon="users">${subaccountName(campaign.subaccount_id)}<//>
            `
            : ""
        }
      </td>
      <td class="wrap">${campaign.sending_domain}</td>
      <td class="right nowrap">
        ${number(campaign.count)} of ${number(campaign.threshold)}
      </td>
      <td>
        ${
          campaign.seed_start
            ? html`
              <${Badge} tone="good" icon="circle-check">Seeded<//>
              ${" "}
              <span class="soft">
                from ${exactTime(campaign.seed_start)}, over ${number(campaign.duration)} minutes
              </span>
            `
            : html`<${Badge} icon="clock">Counting<//>`
        }
      </td>
    </tr>
  `;
}

function ConfigForm({ former, onClose, onSaved }) {
  const exists = former.threshold !== undefined;
  const [numbers, setNumbers] = useState(
    Object.fromEntries(
      Object.entries(NUMBERS).map(([name, [, , , preset]]) => [
        name,
        String(former[name] ?? preset),
      ]),
    ),
  );
  const [kind, setKind] = useState(former.exclude?.length ? "exclude" : "match");
  const [text, setText] = useState([...(former.match ?? []), ...(former.exclude ?? [])].join("\n"));
  const rules = text
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean);
  const problemOf = (name) => {
    const [, least, most] = NUMBERS[name];
    const value = Number(numbers[name]);
    return Number.isInteger(value) && value >= least && value <= most
      ? ""
      : `A whole number from ${number(least)} to ${number(most)}`;
  };
  const many = rules.length > MOST_RULES ? `At most ${MOST_RULES}` : "";
  const disabled = Boolean(many) || !rules.length || Object.keys(NUMBERS).some(problemOf);
  const save = saveAction({ exists, numbers, kind, rules, onSaved });
  return html`
    <${Dialog} title="Inline seeding" disabled=${disabled} onClose=${onClose} onSubmit=${save}>
      <${Segments}
        label="Campaigns that are seeded"
        value=${kind}
        onChange=${setKind}
        options=${[
          ["match", "Only these"],
          ["exclude", "All but these"],
        ]}
      />
      <${CampaignsField} text=${text} setText=${setText} many=${many} />
      ${Object.entries(NUMBERS).map(
        ([name, [label, least, most, , unit]]) => html`
          <${TextField}
            key=${name}
            label=${label}
            type="number"
            min=${least}
            max=${most}
            value=${numbers[name]}
            problem=${problemOf(name)}
            hint=${unit[0].toUpperCase() + unit.slice(1)}
            onInput=${(value) => setNumbers({ ...numbers, [name]: value })}
          />
        `,
      )}
    <//>
  `;
}

function CampaignsField({ text, setText, many }) {
  return html`
    <${TextField}
      label="Campaigns"
      multiline
      rows="4"
      class="mono"
      spellcheck="false"
      value=${text}
      onInput=${setText}
      problem=${many}
      placeholder=${"newsletter-*\nwelcome"}
      hint="One a line, at most ${MOST_RULES}. An asterisk at the end stands for any ending."
    />
  `;
}

function saveAction({ exists, numbers, kind, rules, onSaved }) {
  return async () => {
    await (exists ? put : post)(CONFIG, {
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Number(value)])),
      [kind]: rules,
    });
    onSaved();
  };
}
