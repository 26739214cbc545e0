// Metrics: what was sent and what became of it, over time and by whatever divides it.
import { html, useMemo } from "../vendor/preact.js";
import { countsOf, FIGURES, nameOfBase } from "../core/figures.js";
import { number, share } from "../core/format.js";
import {
  FREE,
  GROUPS,
  METRICS,
  minutes,
  series,
  sums,
  WINDOWS,
  windowOf,
  zoneOfPlot,
} from "../core/metrics.js";
import { useResource } from "../core/resource.js";
import { route, setQuery } from "../core/router.js";
import { CheckField, Icon, SelectField } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, ErrorBox, Skeleton } from "../parts/feedback.js";
import { Card, PageHead, Tiles } from "../parts/page.js";
import { Plot } from "../parts/plot.js";
import { Breakdown } from "./metrics-breakdown.js";
import { FreeWindow, problemsOf, ZoneField } from "./metrics-window.js";

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const COLORS = ["--plot-1", "--plot-2", "--plot-3", "--plot-4", "--plot-5", "--plot-6"];
const DEFAULT = "sent,count_delivered,bounced";

/** The filters of the address as parameters of the reports. */
export function filtersOf(query) {
  return Object.fromEntries(
    Object.values(GROUPS)
      .filter(([, , filter]) => query[filter])
      .map(([, , filter]) => [filter, query[filter]]),
  );
}

export default function Metrics() {
  const { query } = route.value;
  const zone = query.zone || HERE;
  const { name, precision } = windowOf(query, zone);
  const compared = query.compare === "1";
  const chosen = chosenOf(query);
  const filters = filtersOf(query);
  const identity = JSON.stringify([name, query.from, query.to, zone, filters]);
  // The window of a preset moves on: what is loaded again is that of the moment
  const load = (which) => ({ ...windowOf(query, zone)[which], ...filters });
  const now = useResource((signal) => sums(load("now"), signal), [identity]);
  const before = useResource((signal) => sums(load("before"), signal), [identity]);
  const lines = useLines({ identity, chosen, compared, precision, zone, load });
  const report = load("now");
  const problems = problemsOf(now.error);
  const judged = Object.keys(problems).length > 0;
  const choose = (id) =>
    setQuery(
      id === FREE
        ? { window: id, from: report.from, to: minutes(Date.now() + 60000, zone) }
        : { window: id === "24h" ? "" : id, from: "", to: "" },
    );
  return html`
    <div class="page">
      <${Head} name=${name} choose=${choose} problems=${problems} zone=${zone} />
      ${
        (name === FREE || problems.timezone) &&
        html`
          <${FreeWindow}
            query=${query}
            free=${name === FREE}
            zone=${zone}
            here=${HERE}
            problems=${problems}
            now=${minutes(Date.now(), zone)}
          />
        `
      }
      <${Chips} query=${query} />
      ${
        judged
          ? html`<${NoCounts} />`
          : html`
            ${
              now.error && !now.data
                ? html`<${ErrorBox} error=${now.error} retry=${now.reload} />`
                : html`<${Figures} now=${now.data} before=${before.data} />`
            }
            <${OverTime}
              compared=${compared}
              report=${report}
              chosen=${chosen}
              precision=${precision}
              lines=${lines}
            />
            <${Breakdown} report=${report} identity=${identity} />
          `
      }
    </div>
  `;
}

function chosenOf(query) {
  const known = (query.metrics ?? "").split(",").filter((each) => METRICS[each]);
  return known.length ? known : DEFAULT.split(",");
}

/** What is drawn over time, and the same for the period before. */
function useLines({ identity, chosen, compared, precision, zone, load }) {
  return useResource(
    async (signal) => {
      const points = (which) => series(load(which), chosen, precision, signal);
      const [present, former] = await Promise.all([
        points("now"),
        compared ? points("before") : null,
      ]);
      return { chosen, present, former, zone: zoneOfPlot(precision, zone) };
    },
    [identity, chosen.join(), compared],
  );
}

function Head({ name, choose, problems, zone }) {
  return html`
    <${PageHead}
      title="Metrics"
      about="What was sent and what became of it. Counts are kept for six months."
    >
      <div class="toolbar fit">
        <${SelectField}
          hideLabel
          label="Time"
          value=${name}
          options=${[
            ...Object.entries(WINDOWS).map(([id, { label }]) => [id, label]),
            [FREE, "From … to …"],
          ]}
          onChange=${choose}
        />
        ${name !== FREE && !problems.timezone && html`<${ZoneField} zone=${zone} here=${HERE} />`}
      </div>
    <//>
  `;
}

function NoCounts() {
  return html`
    <section class="card">
      <${Empty} icon="calendar" title="No counts of this window">
        Correct it above. Its times are those of clocks in the time zone, and the first comes before
        the last.
      <//>
    </section>
  `;
}

function OverTime({ compared, report, chosen, precision, lines }) {
  return html`
    <${Card}
      title="Over time"
      actions=${html`
        <${CheckField}
          toggle
          label="Compare with the period before"
          checked=${compared}
          onChange=${(on) => setQuery({ compare: on ? "1" : "" })}
        />
        <${CurlButton}
          path="api/v1/metrics/deliverability/time-series"
          query=${{ ...report, metrics: countsOf(chosen), precision }}
        />
      `}
    >
      <div class="stack">
        <${Choice} chosen=${chosen} />
        ${
          lines.error && !lines.data
            ? html`<${ErrorBox} error=${lines.error} retry=${lines.reload} />`
            : lines.data
              ? html`<${Lines} data=${lines.data} />`
              : html`<${Skeleton} height=${294} />`
        }
      </div>
    <//>
  `;
}

function Chips({ query }) {
  // Two reports may have one filter: it is named after the first
  const names = new Map(
    Object.values(GROUPS)
      .reverse()
      .map(([name, , filter]) => [filter, name]),
  );
  /** @type {string[][]} */
  const active = Object.keys(filtersOf(query)).map((filter) => [names.get(filter) ?? "", filter]);
  return (
    active.length > 0 &&
    html`
      <div class="row wraps">
        ${active.map(
          ([name, filter]) => html`
            <span class="chip" key=${filter}>
              <span class="clip"><span class="soft">${name}:</span> ${query[filter]}</span>
              <button
                type="button"
                aria-label="Remove filter ${name}"
                onClick=${() => setQuery({ [filter]: "" })}
              >
                <${Icon} name="x" />
              </button>
            </span>
          `,
        )}
      </div>
    `
  );
}

function Figures({ now, before }) {
  /** @param {typeof FIGURES[number]} figure */
  const tile = ([label, metric, base]) => {
    if (!now) return { label, value: html`<${Skeleton} width="64px" height=${22} />`, note: "" };
    const count = now[metric] ?? 0;
    const note = base
      ? `${share(count, now[base])} of ${nameOfBase(base)}`
      : change(count, before?.[metric]);
    return {
      label,
      value: number(count),
      note: html`
        ${note}
        ${
          base && before
            ? html`
              ${" "}
              <span title="Before: ${share(before[metric], before[base])}">
                ${shift(count, now[base], before[metric], before[base])}
              </span>
            `
            : ""
        }
      `,
    };
  };
  return html`<${Tiles} tiles=${FIGURES.map(tile)} />`;
}

function change(count, former) {
  if (former === undefined) return "";
  if (!former) return count ? "none before" : "";
  const percent = Math.round((100 * (count - former)) / former);
  return percent === 0 ? "as before" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} % on before`;
}

/** By how many points a share has changed. */
function shift(part, total, formerPart, formerTotal) {
  if (!total || !formerTotal) return "";
  const points = (100 * part) / total - (100 * formerPart) / formerTotal;
  return Math.abs(points) < 0.05 ? "" : `(${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)})`;
}

function Choice({ chosen }) {
  const toggle = (metric) => {
    const next = chosen.includes(metric)
      ? chosen.filter((each) => each !== metric)
      : [...chosen, metric].slice(-6);
    if (next.length) setQuery({ metrics: next.join() === DEFAULT ? "" : next.join() });
  };
  return html`
    <div class="row wraps choices" role="group" aria-label="Lines of the plot">
      ${Object.entries(METRICS).map(
        ([id, label]) => html`
          <button
            type="button"
            class="choice"
            key=${id}
            aria-pressed=${chosen.includes(id) ? "true" : "false"}
            onClick=${() => toggle(id)}
          >
            ${label}
          </button>
        `,
      )}
    </div>
  `;
}

function Lines({ data }) {
  const times = useMemo(() => data.present.map((each) => Date.parse(each.ts)), [data]);
  const drawn = data.chosen.map((metric, index) => ({
    label: METRICS[metric],
    color: COLORS[index % COLORS.length],
    values: data.present.map((each) => each[metric] ?? 0),
  }));
  const former = data.former
    ? data.chosen.map((metric, index) => ({
        label: `${METRICS[metric]} before`,
        color: COLORS[index % COLORS.length],
        dash: [5, 4],
        values: times.map((_, place) => data.former[place]?.[metric] ?? 0),
      }))
    : [];
  return html`
    <${Plot}
      label="Counts over time"
      times=${times}
      series=${[...drawn, ...former]}
      height=${260}
      zone=${data.zone}
    />
  `;
}
