// A plot of counts over time. The canvas says nothing to screen readers, so a table stands beside
// it.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { compact, number } from "../core/format.js";
import { theme } from "../core/session.js";
import { styles } from "../core/styles.js";

/** @type {Promise<any> | null} */
let library = null;
const load = () => {
  library ??= Promise.all([import("../vendor/uplot.js"), styles("vendor/uplot.css")]).then(
    ([{ default: Plot }]) => Plot,
  );
  return library;
};

/**
 * `times`: milliseconds; `series`: `[{label, color: "--plot-1", values}]`. The axis and the table
 * show times of `zone`, by default the browser's.
 */
export function Plot({ times, series, height = 220, label, format = compact, zone }) {
  const frame = useRef();
  const tip = useRef();
  const [table, setTable] = useState(false);
  const dark = useDark();
  const drawn = series.map((each) => each.label + each.color).join();
  usePlot({ times, drawn, series, dark, height, zone, frame, format, tip });
  return html`
    <figure class="plot" aria-label=${label}>
      <${Legend} series=${series} table=${table} setTable=${setTable} />
      <div hidden=${table} class="plot-frame" style=${{ height: `${height}px` }} aria-hidden="true">
        <div ref=${frame}></div>
        <div class="plot-tip" ref=${tip} hidden></div>
      </div>
      ${table && html`<${Table} label=${label} series=${series} times=${times} zone=${zone} />`}
    </figure>
  `;
}

function Table({ label, series, times, zone }) {
  return html`
    <div class="scroll-x plot-table" tabindex="0" role="region" aria-label="${label}, as a table">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            ${series.map((each) => html`<th scope="col" class="right">${each.label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${times.map(
            (time, row) => html`
              <tr key=${time}>
                <th scope="row">
                  ${new Date(time).toLocaleString("en", {
                    dateStyle: "medium",
                    timeStyle: "short",
                    timeZone: zone,
                  })}
                </th>
                ${series.map((each) => html`<td class="right">${number(each.values[row])}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function Legend({ series, table, setTable }) {
  return html`
    <div class="plot-legend">
      ${series.map(
        (each) => html`
          <span key=${each.label}>
            <i style=${{ background: `var(${each.color})` }} class=${each.dash ? "dashed" : ""}></i>
            ${each.label}
          </span>
        `,
      )}
      <button
        type="button"
        class="button ghost small"
        aria-expanded=${table ? "true" : "false"}
        onClick=${() => setTable(!table)}
      >
        ${table ? "Plot" : "Table"}
      </button>
    </div>
  `;
}

/** Draw the plot, and draw it again when what it shows has changed. */
function usePlot({ times, drawn, series, dark, height, zone, frame, format, tip }) {
  useEffect(() => {
    let plot;
    let observer;
    let gone = false;
    const element = frame.current;
    load().then((UPlot) => {
      if (gone) return;
      const options = optionsOf({ element, height, series, zone, UPlot, times, format, tip });
      plot = new UPlot(
        options,
        [times.map((each) => each / 1000), ...series.map((each) => each.values)],
        element,
      );
      observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
      observer.observe(element);
    });
    return () => {
      gone = true;
      observer?.disconnect();
      plot?.destroy();
    };
  }, [times, drawn, series.map((each) => each.values.join()).join(";"), dark, height, zone]);
}

/** How uPlot draws the series. */
function optionsOf({ element, height, series, zone, UPlot, times, format, tip }) {
  const color = resolver(element);
  const grid = { stroke: color("--line"), width: 1 };
  const axis = {
    stroke: color("--text-soft"),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  const options = {
    tzDate: (seconds) =>
      zone ? UPlot.tzDate(new Date(seconds * 1000), zone) : new Date(seconds * 1000),
    width: element.clientWidth,
    height,
    legend: { show: false },
    padding: [10, 18, 0, 0],
    cursor: { points: { size: 7 }, y: false },
    scales: { y: { range: (u, low, high) => [0, Math.max(high * 1.1, 4)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 70,
        size: 30,
        incrs: STEPS.filter((each) => times.length < 2 || each * 1000 >= times[1] - times[0]),
        values: (u, ticks, index, space, step) => ticks.map((each) => moment(each, step, zone)),
      },
      {
        ...axis,
        grid,
        size: 46,
        splits: whole,
        values: (u, ticks) => ticks.map((each) => format(each)),
      },
    ],
    series: [
      {},
      ...series.map((each, index) => ({
        label: each.label,
        stroke: color(each.color),
        width: 2,
        points: { show: times.length === 1 },
        dash: each.dash,
        fill:
          index === 0 && !each.dash
            ? `color-mix(in srgb, ${color(each.color)} 9%, transparent)`
            : undefined,
      })),
    ],
    hooks: { setCursor: [(u) => showTip(u, tip.current, series, format, zone)] },
  };
  return options;
}

/** Distances of ticks in seconds. None is shorter than what a point of the plot counts. */
const STEPS = [
  60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000,
];

/** A tick of the time axis: the date at midnight and where the ticks are days apart. */
function moment(seconds, step, timeZone) {
  const time = seconds * 1000;
  const clock = new Intl.DateTimeFormat("en", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone,
  }).format(time);
  if (clock !== "00:00" && step < 86400) return clock;
  return new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone }).format(time);
}

/** Ticks at whole numbers only: a count has no halves. */
function whole(u, axis, low, high, increment) {
  const step = Math.max(1, Math.round(increment));
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => index * step);
}

function showTip(u, element, series, format, timeZone) {
  const { idx, left } = u.cursor;
  if (!element) return;
  element.hidden = idx === null || idx === undefined || left < 0;
  if (element.hidden) return;
  const time = new Date(u.data[0][idx] * 1000).toLocaleString("en", {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hour12: false,
    timeZone,
  });
  element.replaceChildren(
    line(time),
    ...series.map((each) => line(`${each.label}  ${format(each.values[idx])}`)),
  );
  const width = element.offsetWidth;
  const x = u.bbox.left / devicePixelRatio + left;
  element.style.left = `${Math.max(0, x + width + 14 > u.width ? x - width - 12 : x + 12)}px`;
}

const line = (text) => Object.assign(document.createElement("div"), { textContent: text });

/** A function that turns a token into the colour that it has now. */
function resolver(element) {
  return (token) => {
    element.style.color = `var(${token})`;
    const { color } = getComputedStyle(element);
    element.style.color = "";
    return color;
  };
}

function useDark() {
  const query = useRef(window.matchMedia("(prefers-color-scheme: dark)"));
  const [dark, setDark] = useState(query.current.matches);
  useEffect(() => {
    const change = () => setDark(query.current.matches);
    query.current.addEventListener("change", change);
    return () => query.current.removeEventListener("change", change);
  }, []);
  return theme.value === "auto" ? dark : theme.value === "dark";
}
