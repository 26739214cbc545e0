// The counts of a window divided: by domain, campaign and so on, or by reason. A row of a group
// leads into it: it becomes a filter of the page.
import { html, useMemo } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { countsOf, FIGURES, isFigure, withFigures } from "../core/figures.js";
import { save, toCsv } from "../core/files.js";
import { number, share } from "../core/format.js";
import { DIVISIBLE, divide, GROUPS, PLACEMENTS, REASONS, reportOf } from "../core/metrics.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { shownSubaccount } from "../core/service.js";
import { Button, CheckField, Icon } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";

const PLACED = Object.entries(PLACEMENTS).map(([metric, name]) => [name, metric]);
const DOMAIN = ["Recipient domain", "domain", "domains"];

/** What a report is empty without: how mail gets into it. */
const LESSONS = {
  domain: "The domains of recipients are here once something was sent in this window.",
  campaign: html`
    Name what you send: set <code>campaign_id</code> in the transmission, or the campaign on the
    Send page.
  `,
  template: html`
    Send with <code>template_id</code> in the content. Inline content has no template.
  `,
  "sending-domain": "The domains of From are here once something was sent in this window.",
  "mailbox-provider":
    "The companies behind the recipients’ domains are here once something was sent.",
  "mailbox-provider-region":
    "The regions of the recipients’ providers are here once something was sent.",
  "ip-pool": html`
    Set <code>ip_pool</code> in the options of a transmission, or a default pool of a sending
    domain.
  `,
  "sending-ip":
    "The addresses that mail leaves from are here once something was delivered or bounced.",
  subaccount: "Mail of the account and of each subaccount is here once something was sent.",
  "watched-domain":
    "Mail to the large mailbox providers, such as gmail.com or outlook.com, is counted here by " +
    "their domains.",
  "subject-campaign":
    "Where seed addresses and panels received mail, in the inbox or in spam, by its subject. " +
    "Postfinch does not watch such mailboxes: the counts are here only if another system " +
    "records them.",
  "bounce-reason": "Nothing bounced in this window. Each reason is what the receiving server said.",
  "bounce-classification":
    "Nothing bounced in this window. A class says what to do: hard ones are suppressed, soft " +
    "ones may work later.",
  "rejection-reason":
    "Nothing was rejected. Recipients on the suppression list and content that cannot be " +
    "rendered are counted here.",
  "delay-reason":
    "Nothing was delayed. Here is what servers said that took a message later, or never.",
  "link-name": html`
    Nobody clicked. Links have the names that their HTML gives
    them: <code>data-svc-linkname="Shop"</code>.
  `,
  attempt: "Nothing was delivered in this window. Most mail arrives at the first attempt.",
};

/** The columns of a report, and the parameters that say which counts it has. */
function shapeOf({ by, divided }) {
  if (by === "subject-campaign") return shape([GROUPS[by], ...PLACED], true);
  if (GROUPS[by]) return shape([GROUPS[by], ...FIGURES], true);
  return shape([...(divided ? [DOMAIN] : []), ...REASONS[by][1]], false);
}

function shape(columns, ordered) {
  const metrics = countsOf(columns.map(([, key]) => key).filter(isCount));
  return {
    columns,
    parameters: { metrics, limit: 1000, ...(ordered ? { order_by: metrics[0] } : {}) },
  };
}

const isCount = (key) => key.startsWith("count_") || isFigure(key);

export function Breakdown({ report, identity }) {
  const { query } = route.value;
  const { by, divided, path: name } = reportOf(query.by);
  const { columns, parameters: own } = shapeOf({ by, divided });
  const parameters = { ...report, ...own };
  const path = `api/v1/metrics/deliverability/${name}`;
  const resource = useResource(
    (signal) =>
      get(path, parameters, { signal }).then((answer) => ({
        name,
        rows: answer.results.map(withFigures),
      })),
    [identity, name],
  );
  // Where one subaccount is shown there is no other to compare with
  const groups = Object.entries(GROUPS).filter(
    ([id]) => id !== "subaccount" || id === by || shownSubaccount() === "",
  );
  const tabs = [...groups, ...Object.entries(REASONS)].map(([id, [label]]) => [id, label]);
  const data = resource.data?.name === name ? resource.data : undefined;
  const csv = csvAction(name, columns, data);
  const change = (value) => setQuery({ by: value === "domain" ? "" : value, sort: "" });
  return html`
    <${Card}
      title="Breakdown"
      flush
      actions=${html`
        ${
          DIVISIBLE.includes(by) &&
          html`
            <${CheckField}
              toggle
              label="By domain"
              checked=${divided}
              onChange=${(on) => change(divide(by, on))}
            />
          `
        }
        <${Button} kind="ghost small" icon="download" disabled=${!data?.rows.length} onClick=${csv}>
          CSV
        <//>
        <${CurlButton} path=${path} query=${parameters} />
      `}
    >
      <div class="card-tabs">
        <${Tabs} id="by" label="Breakdown by" tabs=${tabs} current=${by} onChange=${change} />
      </div>
      <${TabPanel} id="by" current=${by}>
        <${Loaded} resource=${{ ...resource, data }}>
          ${({ rows }) =>
            rows.length
              ? html`<${Rows} rows=${rows} columns=${columns} />`
              : html`
                <${Empty} level=${3} icon="chart-line" title="Nothing here">${LESSONS[by]}<//>
              `}
        <//>
      <//>
    <//>
  `;
}

function csvAction(name, columns, data) {
  return () =>
    save(
      `${name.replace("/", "-by-")}.csv`,
      toCsv(
        columns.map(([, key]) => key),
        data.rows,
      ),
      "text/csv",
    );
}

function Rows({ rows, columns }) {
  const { query } = route.value;
  const counts = columns.map(([, key]) => key).filter(isCount);
  const sort = counts.includes(query.sort) ? query.sort : counts[0];
  const ordered = useMemo(
    () => [...rows].sort((a, b) => (b[sort] ?? 0) - (a[sort] ?? 0)),
    [rows, sort],
  );
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Breakdown">
      <table class="table">
        <thead>
          <tr>
            ${columns.map(([name, key]) =>
              isCount(key)
                ? html`
                  <th
                    key=${key}
                    scope="col"
                    class="right"
                    aria-sort=${key === sort ? "descending" : "none"}
                  >
                    <button
                      type="button"
                      onClick=${() => setQuery({ sort: key === counts[0] ? "" : key })}
                    >
                      ${name}
                      ${key === sort && html`<${Icon} name="arrow-down" />`}
                    </button>
                  </th>
                `
                : html`<th key=${key} scope="col">${name}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${ordered.slice(0, 200).map(
            (row, index) => html`
              <tr key=${index}>
                ${columns.map((column) =>
                  isCount(column[1])
                    ? html`<${Count} key=${column[1]} row=${row} column=${column} />`
                    : html`<${Value} key=${column[1]} row=${row} column=${column} />`,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${
        ordered.length > 200 &&
        html`<p class="grid-foot">The 200 largest of ${number(ordered.length)}. CSV has all.</p>`
      }
    </div>
  `;
}

function Count({ row, column: [, key, base] }) {
  return html`
    <td class="right">
      ${number(row[key] ?? 0)}
      ${base && html` <span class="faint part">${share(row[key], row[base])}</span>`}
    </td>
  `;
}

/** A value; with a filter in its column, a click makes it one of the page. */
function Value({ row, column: [, key, filter] }) {
  const value = row[key] ?? "";
  if (value === "") return html`<td class="wrap"><span class="faint">none</span></td>`;
  return html`
    <td class="wrap">
      ${
        filter
          ? html`
            <button
              type="button"
              class="plain-link"
              onClick=${() => setQuery({ [filter]: String(value) })}
            >
              ${value}
            </button>
          `
          : value
      }
    </td>
  `;
}
