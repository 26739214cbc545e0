// The API: each operation with its fields and examples, and a form that calls it.
import { html, useMemo, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { operationsOf } from "../core/description.js";
import { useResource } from "../core/resource.js";
import { href, route, setQuery } from "../core/router.js";
import { local } from "../core/service.js";
import { identity, subaccount } from "../core/session.js";
import { Button } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { useNarrow } from "../parts/list.js";
import { PageHead } from "../parts/page.js";
import { SearchField } from "../parts/search-field.js";
import { Operation } from "./api-operation.js";

/** The descriptions of the API and, of a local service, of what only that has. */
async function descriptions(signal) {
  const documents = [await get("openapi.json", undefined, { signal })];
  if (local.value) documents.push(await get("local/openapi.json", undefined, { signal }));
  return documents;
}

export default function Api() {
  const resource = useResource(descriptions, [local.value]);
  const hasList = !useNarrow() || !route.value.path[1];
  return html`
    <div class="page wide-page">
      <${PageHead}
        title="API"
        back=${!hasList && ["All operations", href(["api"], { q: route.value.query.q ?? "" })]}
        about="Every operation, with examples. Requests that you send here are real."
      >
        ${!identity() && html`<${Button} href=${href(["overview"])} icon="key">Sign in<//>`}
        <${Button}
          href="../docs/postman.json"
          download="postfinch.postman_collection.json"
          icon="download"
        >
          Postman collection
        <//>
        <${Button} href="../openapi.json" download="openapi.json" icon="download">OpenAPI<//>
      <//>
      <${Loaded} resource=${resource}>
        ${(documents) => html`<${Operations} documents=${documents} hasList=${hasList} />`}
      <//>
    </div>
  `;
}

function Operations({ documents, hasList }) {
  const operations = useMemo(
    () =>
      documents.flatMap((document) =>
        operationsOf(document).map((each) => ({ ...each, document })),
      ),
    [documents],
  );
  const text = route.value.query.q ?? "";
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = operations.filter((each) =>
    words.every((word) =>
      `${each.method} ${each.path} ${each.summary} ${each.tag}`.toLowerCase().includes(word),
    ),
  );
  const tags = [...new Set(matching.map((each) => each.tag))];
  const current = operations.find((each) => each.id === route.value.path[1]);
  const address = (each) => href(["api", each.id], { q: text });
  return html`
    <div class="api-page">
      ${
        hasList &&
        html`
          <${OperationList}
            text=${text}
            tags=${tags}
            matching=${matching}
            address=${address}
            current=${current}
          />
        `
      }
      ${
        current
          ? html`<${Operation} key=${`${current.id} ${subaccount.value}`} operation=${current} />`
          : html`<${Welcome} document=${documents[0]} />`
      }
    </div>
  `;
}

function OperationList({ text, tags, matching, address, current }) {
  return html`
    <nav class="card api-list" aria-label="Operations">
      <div class="pane-note">
        <${SearchField} label="Search operations" value=${text} onInput=${(q) => setQuery({ q })} />
      </div>
      ${tags.map(
        (tag) => html`
          <section key=${tag}>
            <h2>${tag}</h2>
            <ul>
              ${matching
                .filter((each) => each.tag === tag)
                .map(
                  (each) => html`
                    <li key=${each.id}>
                      <a
                        href=${address(each)}
                        aria-current=${each === current ? "page" : undefined}
                      >
                        <span class="method ${each.method.toLowerCase()}">
                          ${each.method}
                        </span>
                        <span>${each.summary}</span>
                      </a>
                    </li>
                  `,
                )}
            </ul>
          </section>
        `,
      )}
      ${matching.length === 0 && html`<p class="pane-note soft">No operation matches.</p>`}
    </nav>
  `;
}

function Welcome({ document }) {
  const [all, setAll] = useState(false);
  const sentences = document.info.description.split(/(?<=\.) /);
  return html`
    <section class="card" aria-label="About the API">
      <div class="body stack">
        <p>${sentences.slice(0, all ? undefined : 2).join(" ")}</p>
        ${!all && html`<div><${Button} kind="small" onClick=${() => setAll(true)}>More<//></div>`}
        <dl class="facts">
          <dt>Version</dt>
          <dd>${document.info.version}</dd>
          <dt>Key</dt>
          <dd>in the header <code>Authorization</code>, or as user or password of HTTP Basic</dd>
          <dt>Errors</dt>
          <dd><code>{"errors": [{"message", "description", "code"}]}</code></dd>
        </dl>
        <${Empty} icon="braces" title="Choose an operation">
          Each shows its fields, examples in curl, Python and Node.js, and a form that sends it.
        <//>
      </div>
    </section>
  `;
}
