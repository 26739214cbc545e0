// The list of snippets, and the form of a new one.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, shownSubaccount } from "../core/service.js";
import { freeId } from "../core/slug.js";
import { SNIPPETS } from "../core/snippets.js";
import { Badge, Button, CheckField, Copyable, TextField, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { IdField } from "../parts/id-field.js";
import { Card } from "../parts/page.js";
import { SearchField } from "../parts/search-field.js";
import { Section } from "./templates-section.js";

const AT_ONCE = 200;

export function SnippetList() {
  const resource = useResource((signal) =>
    get(SNIPPETS, undefined, { signal }).then((answer) => answer.results),
  );
  const [adding, setAdding] = useState(false);
  const add =
    may("templates/modify") &&
    html`<${Button} kind="primary" icon="plus" onClick=${() => setAdding(true)}>New snippet<//>`;
  return html`
    <${Section}
      current="snippets"
      about="Pieces of content that many templates share, such as a footer."
      actions=${html`<${CurlButton} path=${SNIPPETS} />${add}`}
    >
      <${Loaded} resource=${resource}>
        ${(snippets) =>
          snippets.length
            ? html`<${Matches} snippets=${snippets} />`
            : html`
              <${Card} flush>
                <${Empty} icon="file-text" title="No snippet yet" actions=${add}>
                  Write a footer once, and import it in each template
                  with <code>${'{{ render_snippet("footer") }}'}</code>. A change of it reaches all
                  of them.
                <//>
              <//>
            `}
      <//>
      ${
        adding &&
        html`
          <${NewSnippet}
            ids=${(resource.data ?? []).map((each) => each.id)}
            onClose=${() => setAdding(false)}
          />
        `
      }
    <//>
  `;
}

function Matches({ snippets }) {
  const { q = "" } = route.value.query;
  const [most, setMost] = useState(AT_ONCE);
  const word = q.trim().toLowerCase();
  const matches = snippets
    .filter((each) => [each.id, each.name].some((text) => text?.toLowerCase().includes(word)))
    .sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  return html`
    <div class="toolbar">
      <${SearchField}
        label="Search snippets"
        value=${q}
        onInput=${(text) => setQuery({ q: text })}
      />
      <span class="soft" role="status">${plural(matches.length, "snippet")}</span>
    </div>
    <${Card} flush>
      ${
        matches.length
          ? html`<${Table} snippets=${matches.slice(0, most)} />`
          : html`
            <${Empty}
              icon="search"
              title="No snippet matches"
              actions=${html`<${Button} onClick=${() => setQuery({ q: "" })}>Show all<//>`}
            />
          `
      }
    <//>
    ${
      matches.length > most &&
      html`<div class="row"><${Button} onClick=${() => setMost(most + AT_ONCE)}>Show more<//></div>`
    }
  `;
}

function Table({ snippets }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Snippets">
      <table class="table">
        <thead><tr><th>Name</th><th>Id</th><th>Who may use it</th><th>Changed</th></tr></thead>
        <tbody>
          ${snippets.map(
            (each) => html`
              <tr key=${`${each.subaccount_id}/${each.id}`}>
                <td>
                  <a class="strong" href=${href(["templates", "snippets", each.id])}>
                    ${each.name}
                  </a>
                </td>
                <td><${Copyable} text=${each.id} /></td>
                <td><${Users} snippet=${each} /></td>
                <td><${Time} at=${each.updated_at} /></td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function Users({ snippet }) {
  if (snippet.subaccount_id !== undefined)
    return html`<${Badge}>Subaccount ${snippet.subaccount_id}<//>`;
  return snippet.shared_with_subaccount
    ? html`<${Badge} tone="info" icon="users">All subaccounts<//>`
    : html`<span class="soft">The account</span>`;
}

function NewSnippet({ ids, onClose }) {
  const [name, setName] = useState("");
  const [id, setId] = useState("");
  const [shared, setShared] = useState(false);
  const proposal = freeId(name, ids);
  const create = async () => {
    const content = { html: "<p>Example Ltd, {{city}}</p>\n", text: "Example Ltd, {{city}}\n" };
    const chosen = id || proposal;
    const own = { ...(chosen && { id: chosen }), ...(shared && { shared_with_subaccounts: true }) };
    const { results } = await post(SNIPPETS, {
      name,
      content,
      preview_data: { city: "Oslo" },
      ...own,
    });
    go(["templates", "snippets", results.id]);
  };
  return html`
    <${Dialog}
      title="New snippet"
      submit="Make snippet"
      disabled=${!name}
      onClose=${onClose}
      onSubmit=${create}
    >
      <${TextField} label="Name" value=${name} onInput=${setName} />
      <${IdField} hint="Templates name it." value=${id} onInput=${setId} proposal=${proposal} />
      ${
        shownSubaccount() === "" &&
        html`
          <${CheckField}
            label="Share with all subaccounts"
            checked=${shared}
            onChange=${setShared}
          />
        `
      }
    <//>
  `;
}
