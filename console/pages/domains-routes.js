// The routes of an inbound domain: what becomes of a message, by the part before the @.
import { html, useState } from "../vendor/preact.js";
import { get, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { Button, IconButton } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded, Notice, toast } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

/** What becomes of a message: `[action, text]`. */
export const ACTIONS = [
  ["webhook", "Relay webhook"],
  ["forward", "Forward"],
  ["store", "Store"],
  ["drop", "Drop"],
];
const MOST = 100;
const NEW = { pattern: "", action: "webhook", forward_to: "" };

export function Routes({ path, domain }) {
  const routes = useResource((signal) => get(`${path}/routes`, undefined, { signal }), [path]);
  const [rows, setRows] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const stored = (routes.data?.results ?? []).map((each) => ({ ...NEW, ...each }));
  const shown = rows ?? stored;
  const save = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const answer = await put(`${path}/routes`, { routes: shown.map(bodyOf) });
      routes.set(() => answer);
      setRows(null);
      toast("Routes saved");
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const usual = domain.relay_webhook_id ? "goes to the relay webhook" : "is stored";
  const actions = html`
    <span class="row wraps">
      <${CurlButton} path="${path}/routes" kind="small" />
      ${
        shown.length < MOST &&
        html`
          <${Button} kind="small" icon="plus" onClick=${() => setRows([...shown, NEW])}>
            Add route
          <//>
        `
      }
    </span>
  `;
  return html`
    <${Card} title="Routes" actions=${actions}>
      <${Loaded} resource=${routes}>
        ${() => html`
          <div class="stack">
            <${About} usual=${usual} isEmpty=${!shown.length} />
            <${Rows} rows=${shown} onChange=${setRows} hasWebhook=${domain.relay_webhook_id} />
            ${problem && html`<${Notice} tone="bad" icon="circle-alert">${wordsOf(problem)}<//>`}
            ${
              rows &&
              html`
                <div class="row wraps">
                  <${Button} kind="primary" busy=${busy} onClick=${save}>Save routes<//>
                  <${Button} onClick=${() => setRows(null)}>Discard changes<//>
                </div>
              `
            }
          </div>
        `}
      <//>
    <//>
  `;
}

function About({ usual, isEmpty }) {
  return html`
    <p class="soft">
      The first route whose pattern fits the part before the @ counts;${" "}
      <code>*</code> stands for any characters. Mail that fits none ${usual}.
    </p>
    ${
      isEmpty &&
      html`
        <${Empty} level=${3} icon="split" title="No route">All mail to the domain ${usual}.<//>
      `
    }
  `;
}

/** The API counts routes from 0, people from 1. */
const wordsOf = (error) =>
  error.errors?.length
    ? (error.errors[0].description ?? error.message).replaceAll(
        /routes\[(\d+)\]\.?(\w+)?/g,
        (_, index, field) =>
          `Route ${Number(index) + 1}${field ? `: ${field.replace("_", " ")}` : ""}`,
      )
    : error.message;

const bodyOf = ({ pattern, action, forward_to: target }) => ({
  pattern: pattern.trim(),
  action,
  ...(action === "forward" ? { forward_to: target.trim() } : {}),
});

function Rows({ rows, onChange, hasWebhook }) {
  const change = (index, fields) =>
    onChange(rows.map((each, at) => (at === index ? { ...each, ...fields } : each)));
  const swap = (index) => onChange(rows.toSpliced(index - 1, 2, rows[index], rows[index - 1]));
  return html`
    <ol class="route-rows" aria-label="Routes">
      ${rows.map(
        (row, index) => html`
          <li class="route-row" key=${index}>
            <input
              class="input mono"
              aria-label="Pattern of route ${index + 1}"
              placeholder="sales*"
              value=${row.pattern}
              spellcheck="false"
              autocapitalize="none"
              onInput=${(event) => change(index, { pattern: event.target.value })}
            />
            <select
              class="input"
              aria-label="What becomes of mail of route ${index + 1}"
              value=${row.action}
              onChange=${(event) => change(index, { action: event.target.value })}
            >
              ${ACTIONS.map(
                ([each, text]) => html`
                  <option value=${each} selected=${each === row.action}>
                    ${each === "webhook" && !hasWebhook ? `${text} (none yet: store)` : text}
                  </option>
                `,
              )}
            </select>
            <${Target} row=${row} index=${index} change=${change} />
            <span class="row nowrap">
              <${IconButton}
                icon="arrow-up"
                kind="ghost small"
                label="Move route ${index + 1} up"
                disabled=${index === 0}
                onClick=${() => swap(index)}
              />
              <${IconButton}
                icon="x"
                kind="ghost small"
                label="Remove route ${index + 1}"
                onClick=${() => onChange(rows.toSpliced(index, 1))}
              />
            </span>
          </li>
        `,
      )}
    </ol>
  `;
}

function Target({ row, index, change }) {
  if (row.action !== "forward") return html`<span class="route-target"></span>`;
  return html`
    <input
      class="input route-target"
      type="email"
      aria-label="Where route ${index + 1} forwards to"
      placeholder="sales@example.org"
      value=${row.forward_to}
      onInput=${(event) => change(index, { forward_to: event.target.value })}
    />
  `;
}
