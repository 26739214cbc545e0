// One operation: its fields, examples, and the form that sends it.
import { html, useState } from "../vendor/preact.js";
import { exchange } from "../core/api.js";
import { rowsOf, textOf, typeOf } from "../core/description.js";
import { exampleOf, isLanguage, LANGUAGES } from "../core/examples.js";
import { route, setQuery } from "../core/router.js";
import { identity, subaccount } from "../core/session.js";
import { Badge, Button, TextField } from "../parts/controls.js";
import { Code, Json } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { CodeEditor } from "../parts/editor.js";
import { ErrorBox } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { TabPanel, Tabs } from "../parts/tabs.js";

const SUBACCOUNT = "X-SVC-SUBACCOUNT";
const isFilled = ([, value]) => value !== "";

export function Operation({ operation }) {
  const { method, path, parameters, bodies } = operation;
  const [values, setValues] = useState({ [SUBACCOUNT]: subaccount.value });
  const [body, setBody] = useState(
    bodies[0]?.example === undefined ? "" : JSON.stringify(bodies[0].example, null, 2),
  );
  const call = callOf(operation, values, body);
  return html`
    <div class="stack api-operation">
      <${Summary} operation=${operation} method=${method} path=${path} />
      <${Try}
        operation=${operation}
        call=${call}
        values=${values}
        setValues=${setValues}
        body=${body}
        setBody=${setBody}
      />
      <${Examples} call=${call} />
      ${
        parameters.length > 0 &&
        html`<${Parameters} parameters=${parameters} operation=${operation} />`
      }
      ${bodies.map(
        (each) => html`
          <${Fields}
            key=${each.mediaType}
            title="Body"
            document=${operation.document}
            content=${each}
          />
        `,
      )}
      <${Responses} operation=${operation} />
    </div>
  `;
}

function Parameters({ parameters, operation }) {
  return html`
    <${Card} title="Parameters" flush>
      <${Rows}
        label="Parameters"
        rows=${parameters.map((each) => ({
          depth: 0,
          name: each.name,
          type: `${typeOf(operation.document, each.schema)}, in the ${each.in}`,
          isRequired: each.required,
          text: [each.description, textOf(operation.document, each.schema)]
            .filter(Boolean)
            .join(". "),
        }))}
      />
    <//>
  `;
}

function Summary({ operation, method, path }) {
  return html`
    <section class="card">
      <div class="body stack">
        <h2>${operation.summary}</h2>
        <p class="row wraps">
          <span class="method ${method.toLowerCase()}">${method}</span>
          <code class="api-path">${path}</code>
        </p>
        <p class="soft">
          ${
            operation.isPublic
              ? "Needs no key."
              : operation.grant
                ? html`Needs the grant <code>${operation.grant}</code>.`
                : operation.isForPeople
                  ? "For people who are signed in, not for keys."
                  : "Any key and every person may call it."
          }
        </p>
      </div>
    </section>
  `;
}

/** The request that the form describes. */
function callOf({ method, path, parameters, bodies, isPublic }, values, body) {
  const of = (place) =>
    parameters.filter((each) => each.in === place).map(({ name }) => [name, values[name] ?? ""]);
  const filled = of("path").reduce(
    (text, [name, value]) =>
      text.replace(`{${name}}`, encodeURIComponent(value || name.toUpperCase())),
    path,
  );
  return {
    method,
    path: filled,
    query: Object.fromEntries(of("query").filter(isFilled)),
    headers: Object.fromEntries(of("header").filter(isFilled)),
    body,
    mediaType: bodies[0]?.mediaType,
    isPublic,
  };
}

function Try({ operation, call, values, setValues, body, setBody }) {
  const [answer, setAnswer] = useState(null);
  const [busy, setBusy] = useState(false);
  const missing = operation.parameters
    .filter((each) => each.required && !values[each.name])
    .map((each) => each.name);
  const isOff = !operation.isPublic && !identity();
  const send = sendAction(call, setBusy, setAnswer);
  return html`
    <${Card} title="Try it">
      <form class="stack" onSubmit=${send}>
        ${
          operation.parameters.length > 0 &&
          html`
            <${ParameterFields} operation=${operation} values=${values} setValues=${setValues} />
          `
        }
        ${
          operation.bodies.length > 0 &&
          html`
            <div class="api-body">
              <${CodeEditor}
                label="Body of the request"
                language=${operation.bodies[0].mediaType === "application/json" ? "json" : "text"}
                value=${body}
                onInput=${setBody}
              />
            </div>
          `
        }
        <${SendRow} busy=${busy} isOff=${isOff} missing=${missing} />
      </form>
      ${answer && html`<${Answer} answer=${answer} />`}
    <//>
  `;
}

function SendRow({ busy, isOff, missing }) {
  return html`
    <div class="row wraps">
      <${Button}
        type="submit"
        icon="send"
        kind="primary"
        busy=${busy}
        disabled=${isOff || missing.length > 0}
      >
        Send
      <//>
      <span class="soft">
        ${
          isOff
            ? "Sign in to send it."
            : missing.length > 0
              ? `Still needed: ${missing.join(", ")}`
              : ""
        }
      </span>
    </div>
  `;
}

function ParameterFields({ operation, values, setValues }) {
  return html`
    <div class="form-grid">
      ${operation.parameters.map(
        (each) => html`
          <${TextField}
            key=${each.name}
            label=${each.name}
            optional=${!each.required}
            hint=${each.in === "query" ? each.description : undefined}
            value=${values[each.name] ?? ""}
            onInput=${(value) => setValues({ ...values, [each.name]: value })}
            spellcheck="false"
          />
        `,
      )}
    </div>
  `;
}

/** What sends the request, after a question if it changes something. */
function sendAction(call, setBusy, setAnswer) {
  return async (event) => {
    event.preventDefault();
    if (
      call.method !== "GET" &&
      !(await confirm({
        title: `Send ${call.method}?`,
        text: "It changes this account for real.",
        action: "Send",
      }))
    )
      return;
    setBusy(true);
    const headers = {
      [SUBACCOUNT]: null,
      ...call.headers,
      ...(call.body && { "Content-Type": call.mediaType }),
    };
    setAnswer(
      await exchange(call.method, call.path, {
        query: call.query,
        headers,
        body: call.body || undefined,
      }).catch((error) => ({ error })),
    );
    setBusy(false);
  };
}

function Answer({ answer }) {
  if (answer.error) return html`<${ErrorBox} error=${answer.error} />`;
  const { status, headers, text, milliseconds } = answer;
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  return html`
    <section class="stack" aria-label="Answer" role="status">
      <p class="row wraps">
        <${Badge}
          tone=${status < 400 ? "good" : "bad"}
          icon=${status < 400 ? "circle-check" : "circle-alert"}
        >
          ${status}
        <//>
        <span class="soft">${Math.round(milliseconds)} ms</span>
      </p>
      ${
        text &&
        (value === undefined
          ? html`<${Code} text=${text} label="Answer's body" wrapped />`
          : html`<${Json} value=${value} label="Answer's body" />`)
      }
      <details>
        <summary>Headers</summary>
        <${Code}
          text=${headers.map(([name, content]) => `${name}: ${content}`).join("\n")}
          label="Headers"
        />
      </details>
    </section>
  `;
}

function Examples({ call }) {
  const current = isLanguage(route.value.query.in) ? route.value.query.in : "curl";
  return html`
    <section class="card" aria-label="Examples">
      <div class="card-tabs">
        <${Tabs}
          id="in"
          label="Examples"
          tabs=${LANGUAGES}
          current=${current}
          onChange=${(id) => setQuery({ in: id === "curl" ? "" : id })}
        />
      </div>
      <${TabPanel} id="in" current=${current}>
        <div class="pane-note"><${Code} text=${exampleOf(current, call)} label="Example" /></div>
      <//>
    </section>
  `;
}

function Fields({ title, document, content }) {
  const rows = rowsOf(document, content.schema ?? {});
  return html`
    <${Card} title=${title} actions=${html`<code>${content.mediaType}</code>`} flush>
      ${
        rows.length > 0
          ? html`<${Rows} label=${title} rows=${rows} />`
          : html`
            <p class="pane-note">
              ${typeOf(document, content.schema ?? {})}
              ${" "}
              <span class="soft">${textOf(document, content.schema ?? {})}</span>
            </p>
          `
      }
    <//>
  `;
}

function Rows({ rows, label }) {
  return html`
    <div class="scrolls" tabindex="0" role="region" aria-label=${label}>
      <table class="api-fields">
        <thead>
          <tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">What it is</th></tr>
        </thead>
        <tbody>
          ${rows.map(
            (each, index) => html`
              <tr key=${index}>
                <td style=${{ paddingLeft: `${14 + each.depth * 16}px` }}>
                  <code>${each.name}</code>
                  ${each.isRequired && html` <${Badge} tone="plum">required<//>`}
                </td>
                <td class="soft">${each.type}</td>
                <td>${each.text}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function Responses({ operation }) {
  const [open, setOpen] = useState(null);
  const good = operation.responses.filter((each) => each.status < "400");
  const bad = operation.responses.filter((each) => each.status >= "400");
  const content = (each) => Object.entries(each.content ?? {})[0];
  return html`
    ${good.map(
      (each) => html`
        <div key=${each.status}>
          ${
            content(each)
              ? html`
                <${Fields}
                  title=${`Answer ${each.status}`}
                  document=${operation.document}
                  content=${{ mediaType: content(each)[0], ...content(each)[1] }}
                />
              `
              : html`
                <${Card} title=${`Answer ${each.status}`}>
                  <p class="soft">${each.description || "No body."}</p>
                <//>
              `
          }
        </div>
      `,
    )}
    <${Card} title="Refusals">
      <div class="row wraps">
        ${bad.map(
          (each) => html`
            <${Button}
              key=${each.status}
              kind="small"
              aria-pressed=${open === each.status ? "true" : "false"}
              onClick=${() => setOpen(open === each.status ? null : each.status)}
            >
              ${each.status}
            <//>
          `,
        )}
      </div>
      ${open && html`<p>${bad.find((each) => each.status === open).description}</p>`}
    <//>
  `;
}
