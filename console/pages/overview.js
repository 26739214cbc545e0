// Overview: the last day in figures, and what needs attention.
import { html, useMemo } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { eventDetail, eventType, TROUBLE } from "../core/events.js";
import { countsOf, FIGURES, nameOfBase, withFigures } from "../core/figures.js";
import { number, share } from "../core/format.js";
import { useLive } from "../core/live.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { may, ofSubaccount } from "../core/service.js";
import { styled } from "../core/styles.js";
import { Badge, Button, Icon, Time } from "../parts/controls.js";
import { Empty, ErrorBox, Loaded, Skeleton, SkeletonRows } from "../parts/feedback.js";
import { Lazy } from "../parts/lazy.js";
import { pageHref } from "../parts/links.js";
import { Card, PageHead, Tiles } from "../parts/page.js";
import { Plot } from "../parts/plot.js";
import { EndingKeys } from "./overview-ending.js";
import { SENDING } from "./registry.js";

/**
 * Figure → its line in the plot. Not what is accepted: a bounce that comes late counts against a
 * later hour.
 */
const LINES = {
  sent: ["Sent", "--plot-1"],
  count_delivered: ["Delivered", "--plot-2"],
  bounced: ["Bounced", "--plot-3"],
};
/** Figure → the events that it counts. */
const EVENTS = {
  sent: { events: "injection" },
  count_accepted: { events: "delivery" },
  bounced: { events: "bounce,out_of_band" },
  suppressed: { events: "bounce", bounce_classes: "25" },
  count_unique_confirmed_opened: { events: "open,initial_open" },
  count_unique_clicked: { events: "click" },
  count_spam_complaint: { events: "spam_complaint" },
};
const DAY = 86400000;
/** Grants of which each shows something here. */
const SHOWN = ["metrics/view", "message_events/view", "sending_domains/view", "webhooks/view"];

/** A time as the reports take it: minutes, in UTC. */
const minute = (time) => new Date(time).toISOString().slice(0, 16);

async function loadFigures(signal) {
  const now = Date.now();
  const query = {
    from: minute(now - DAY),
    to: minute(now + 60000),
    timezone: "UTC",
    ...ofSubaccount(),
  };
  const [sums, series] = await Promise.all([
    get(
      "api/v1/metrics/deliverability",
      { ...query, metrics: countsOf(FIGURES.map(([, figure]) => figure)) },
      { signal },
    ),
    get(
      "api/v1/metrics/deliverability/time-series",
      { ...query, precision: "hour", metrics: countsOf(Object.keys(LINES)) },
      { signal },
    ),
  ]);
  return { sums: withFigures(sums.results[0] ?? {}), series: series.results.map(withFigures) };
}

export default function Overview() {
  return may(SHOWN)
    ? html`<${LastDay} />`
    : html`
      <${Lazy}
        load=${styled(() => import("./overview-key.js"), ["styles/pages.css"])}
        around=${(content) => html`<div class="page"><h1>Overview</h1>${content}</div>`}
      />
    `;
}

function LastDay() {
  const figures = useResource((signal) =>
    may("metrics/view") ? loadFigures(signal) : { sums: {}, series: [] },
  );
  const anything = useResource((signal) =>
    may("message_events/view")
      ? get(
          "api/v1/events/message",
          {
            ...ofSubaccount(),
            per_page: 1,
            from: minute(Date.now() - 9 * DAY),
            to: new Date(Date.now() + 60000).toISOString().slice(0, 19),
          },
          { signal },
        )
      : null,
  );
  const reload = useMemo(
    () =>
      throttled(() => {
        figures.reload();
        anything.reload();
      }, 1500),
    [],
  );
  useLive({ event: reload }, { poll: reload, seconds: 30 });
  const empty = may(SENDING) && anything.data && anything.data.results?.length === 0;
  return html`
    <div class="page">
      <${PageHead}
        title="Overview"
        about=${empty ? undefined : "The last 24 hours, and what needs attention."}
      />
      ${
        empty
          ? html`
            <${Lazy} load=${styled(() => import("./first-send.js"), ["styles/pages.css"])} waits />
            <${EndingKeys} />
          `
          : html`
            ${may("metrics/view") && html`<${Figures} resource=${figures} />`}
            <div class="columns uneven">
              ${may("message_events/view") && html`<${Trouble} />`}
              <div class="stack">
                ${may("sending_domains/view") && html`<${Domains} />`}
                ${may("webhooks/view") && html`<${Webhooks} />`}
                <${EndingKeys} />
              </div>
            </div>
          `
      }
    </div>
  `;
}

function Figures({ resource }) {
  const { data, error, reload } = resource;
  const times = useMemo(
    () => data?.series.map((each) => Date.parse(each.ts)) ?? [],
    [data?.series.length, data?.series[0]?.ts],
  );
  if (error && !data) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  const sums = data?.sums ?? {};
  const tiles = FIGURES.map(([label, figure, base]) => ({
    label,
    value: data ? number(sums[figure] ?? 0) : html`<${Skeleton} width="64px" height=${22} />`,
    note: !data
      ? ""
      : base
        ? `${share(sums[figure] ?? 0, sums[base])} of ${nameOfBase(base)}`
        : figure === "sent"
          ? "messages"
          : "not sent",
    href: pageHref(["activity"], EVENTS[figure]),
    color: LINES[figure] && `var(${LINES[figure][1]})`,
  }));
  const series =
    data &&
    Object.entries(LINES).map(([figure, [label, color]]) => ({
      label,
      color,
      values: data.series.map((each) => each[figure]),
    }));
  return html`
    <${Tiles} tiles=${tiles} />
    <${Card} title="Messages by hour">
      ${
        data
          ? html`<${Plot} label="Messages by hour" times=${times} series=${series} />`
          : html`<${Skeleton} height=${254} />`
      }
    <//>
  `;
}

function Trouble() {
  const resource = useResource((signal) =>
    get(
      "api/v1/events/message",
      { ...ofSubaccount(), events: TROUBLE, per_page: 6, from: minute(Date.now() - DAY) },
      { signal },
    ),
  );
  const reload = useMemo(() => throttled(resource.reload, 2000), []);
  useLive({ event: (event) => TROUBLE.includes(event.type) && reload() });
  const all = href(["activity"], { events: TROUBLE.join(",") });
  return html`
    <${Card}
      title="Bounces and complaints"
      flush
      actions=${html`<${Button} kind="ghost small" href=${all}>Show all<//>`}
    >
      <${Loaded} resource=${resource} shape=${html`<${SkeletonRows} rows=${4} height=${56} />`}>
        ${({ results }) =>
          results.length
            ? html`
              <ul class="items">
                ${results.map((event) => {
                  const { label, tone, icon } = eventType(event.type);
                  return html`
                    <li key=${event.event_id}>
                      <div class="grow">
                        <div class="row">
                          <a
                            class="clip strong"
                            href=${href(["activity", event.event_id], {
                              recipients: event.rcpt_to,
                            })}
                          >
                            ${event.rcpt_to}
                          </a>
                        </div>
                        <div class="clip" title=${eventDetail(event)}>${eventDetail(event)}</div>
                      </div>
                      <${Badge} tone=${tone} icon=${icon}>${label}<//>
                      <span class="soft"><${Time} at=${event.timestamp} /></span>
                    </li>
                  `;
                })}
              </ul>
            `
            : html`
              <${Empty} level=${3} icon="shield-check" title="Nothing bounced">
                No bounce, complaint or rejection in the last 24 hours.
              <//>
            `}
      <//>
    <//>
  `;
}

function Domains() {
  const resource = useResource((signal) => get("api/v1/sending-domains", undefined, { signal }));
  return html`
    <${Card} title="Sending domains" flush>
      <${Loaded} resource=${resource} shape=${html`<${SkeletonRows} rows=${2} />`}>
        ${({ results }) => {
          const unready = results.filter((each) => !ready(each));
          if (!results.length)
            return html`
              <${Empty} level=${3} icon="globe" title="No domain yet">
                Mail is sent from a domain whose DNS records are verified.
              <//>
            `;
          if (!unready.length)
            return html`
              <p class="row ok">
                <${Icon} name="circle-check" />
                ${
                  results.length === 1
                    ? `${results[0].domain} is ready to send`
                    : `All ${results.length} domains are ready to send`
                }
              </p>
            `;
          return html`
            <ul class="items">
              ${unready.slice(0, 5).map(
                (each) => html`
                  <li key=${each.domain}>
                    <div class="grow">
                      <div class="clip strong">${each.domain}</div>
                      <div>${missing(each)}</div>
                    </div>
                    <${Badge} tone="warn" icon="alert-triangle">Not ready<//>
                  </li>
                `,
              )}
            </ul>
          `;
        }}
      <//>
    <//>
  `;
}

const ready = (domain) =>
  domain.status.ownership_verified &&
  domain.status.compliance_status === "valid" &&
  domain.status.dkim_status === "valid";
const missing = (domain) =>
  domain.status.compliance_status !== "valid"
    ? "Blocked by the operator"
    : !domain.status.ownership_verified
      ? "Ownership is not verified"
      : "DKIM is not verified";

async function loadWebhooks(signal) {
  const { results } = await get("api/v1/webhooks", undefined, { signal });
  const states = await Promise.all(
    results.slice(0, 8).map((each) =>
      get(`api/v1/webhooks/${each.id}/batch-status`, { limit: 5 }, { signal }).then(
        (answer) => answer.results,
        () => [],
      ),
    ),
  );
  return results.map((each, index) => ({ ...each, batches: states[index] ?? [] }));
}

function Webhooks() {
  const resource = useResource(loadWebhooks);
  return html`
    <${Card} title="Webhooks" flush>
      <${Loaded} resource=${resource} shape=${html`<${SkeletonRows} rows=${2} />`}>
        ${(webhooks) => {
          const failing = webhooks.filter((each) => each.batches.some(failed));
          if (!webhooks.length)
            return html`
              <${Empty} level=${3} icon="webhook" title="No webhook yet">
                A webhook posts every event to a URL of yours as it happens.
              <//>
            `;
          if (!failing.length)
            return html`
              <p class="row ok">
                <${Icon} name="circle-check" />
                ${
                  webhooks.length === 1
                    ? `${webhooks[0].name} accepts what it gets`
                    : `All ${webhooks.length} webhooks accept what they get`
                }
              </p>
            `;
          return html`
            <ul class="items">
              ${failing.map(
                (each) => html`
                  <li key=${each.id}>
                    <div class="grow">
                      <div class="clip strong">${each.name}</div>
                      <div class="clip">${each.target}</div>
                    </div>
                    <${Badge} tone="bad" icon="circle-x">${failure(each.batches.find(failed))}<//>
                  </li>
                `,
              )}
            </ul>
          `;
        }}
      <//>
    <//>
  `;
}

const failed = (batch) =>
  batch.failure_code || (batch.response_code && !String(batch.response_code).startsWith("2"));
const failure = (batch) =>
  batch.response_code ? `Status ${batch.response_code}` : batch.failure_code;

/** Call `work` now, and at most once in `milliseconds`. */
function throttled(work, milliseconds) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      work();
    }, milliseconds);
  };
}
