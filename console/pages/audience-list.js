// One recipient list: its recipients, CSV out, changing and deleting it.
import { html, useState } from "../vendor/preact.js";
import { get, remove } from "../core/api.js";
import { save, toCsv } from "../core/files.js";
import { number, plural } from "../core/format.js";
import { FIELDS, toRow } from "../core/recipients.js";
import { useResource } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { may } from "../core/service.js";
import { Badge, Button, Copyable, IconButton } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { SearchField } from "../parts/search-field.js";
import { ListForm } from "./audience-list-form.js";
import { PATH } from "./audience-lists.js";

const SHOWN = 100;

export function ListView({ id, version, onChange }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const resource = useResource((signal) => get(path, undefined, { signal }), [id, version]);
  const recipients = useResource(
    async (signal) =>
      (await get(path, { show_recipients: true }, { signal })).results.recipients.map(toRow),
    [id, version],
  );
  const [form, setForm] = useState("");
  const close = (options) => go(["audience", "lists"], route.value.query, options);
  const destroy = deleteAction(path, close, onChange);
  const list = resource.data?.results;
  return html`
    <${Head} list=${list} id=${id} path=${path} close=${close} />
    <div class="pane-body">
      <div class="pane-content">
        <${Loaded} resource=${resource}>
          ${({ results }) => html`
            <div class="stack">
              <${Actions}
                recipients=${recipients}
                setForm=${setForm}
                id=${id}
                destroy=${destroy}
                results=${results}
              />
              <dl class="facts">
                <dt>Id</dt>
                <dd><${Copyable} text=${results.id} /></dd>
                <dt>Recipients</dt>
                <dd class="num">${number(results.total_accepted_recipients)}</dd>
                ${results.description && html`<dt>Description</dt><dd>${results.description}</dd>`}
              </dl>
              <${LastChanged} resource="recipient-lists" id=${id} of=${results} />
              <${Loaded} resource=${recipients}>
                ${(rows) => html`<${Recipients} rows=${rows} />`}
              <//>
              ${
                form &&
                html`
                  <${ListForm}
                    key=${form}
                    list=${results}
                    fields=${form === "fields"}
                    onClose=${() => setForm("")}
                    onSaved=${onChange}
                  />
                `
              }
            </div>
          `}
        <//>
      </div>
    </div>
  `;
}

function deleteAction(path, close, onChange) {
  return async (list) => {
    if (
      !(await confirm({
        title: `Delete ${list.name}?`,
        text:
          `The list and its ${plural(list.total_accepted_recipients, "recipient")} are ` +
          `deleted for good.`,
        typed: list.name,
      }))
    )
      return;
    if (await attempt(() => remove(path), "Deleted")) {
      close({ replace: true });
      onChange();
    }
  };
}

function Actions({ recipients, setForm, id, destroy, results }) {
  return html`
    <div class="row wraps">
      <${Button} kind="small" icon="upload" onClick=${() => setForm("recipients")}>
        Replace recipients
      <//>
      <${Button}
        kind="small"
        icon="download"
        disabled=${!recipients.data}
        onClick=${() => save(`${id}.csv`, toCsv(FIELDS, recipients.data), "text/csv")}
      >
        Save as CSV
      <//>
      ${
        may("recipient-validation/manage") &&
        html`
          <${Button}
            kind="small"
            icon="circle-check"
            href=${href(["audience", "validation"], { list: id })}
          >
            Validate
          <//>
        `
      }
      <${Button} kind="small" icon="pencil" onClick=${() => setForm("fields")}>
        Change name
      <//>
      <${Button} kind="small danger" icon="trash-2" onClick=${() => destroy(results)}>
        Delete list
      <//>
    </div>
  `;
}

function Head({ list, id, path, close }) {
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the lists"
        kind="ghost small pane-back"
        onClick=${() => close()}
      />
      <h2 class="grow clip">${list?.name ?? id}</h2>
      <${CurlButton} path=${path} query=${{ show_recipients: true }} />
      <${IconButton} icon="x" label="Close" kind="ghost small" onClick=${() => close()} />
    </header>
  `;
}

function Recipients({ rows }) {
  const [text, setText] = useState("");
  const needle = text.toLowerCase();
  const matching = rows.filter((each) =>
    `${each.email} ${each.name ?? ""}`.toLowerCase().includes(needle),
  );
  return html`
    <section class="stack small" aria-label="Recipients">
      <h3>Recipients</h3>
      ${
        rows.length > 10 &&
        html`
          <${SearchField}
            label="Search recipients"
            shortcut=${false}
            value=${text}
            onInput=${setText}
          />
        `
      }
      <div class="scroll-x" tabindex="0" role="region" aria-label="Recipients of the list">
        <table class="table">
          <thead><tr><th>Address</th><th>Data</th></tr></thead>
          <tbody>
            ${matching
              .slice(0, SHOWN)
              .map((each, index) => html`<${RecipientRow} key=${index} recipient=${each} />`)}
          </tbody>
        </table>
      </div>
      ${
        matching.length > SHOWN &&
        html`
          <p class="soft">
            The first ${SHOWN} of ${number(matching.length)}. The CSV file has all.
          </p>
        `
      }
      ${!matching.length && html`<p class="soft">No recipient matches.</p>`}
    </section>
  `;
}

function RecipientRow({ recipient }) {
  return html`
    <tr>
      <td class="wrap">
        <div>${recipient.email}</div>
        ${recipient.name && html`<div class="soft">${recipient.name}</div>`}
      </td>
      <td class="wrap">
        ${(recipient.tags ?? []).map((tag) => html`<${Badge}>${tag}<//> `)}
        ${Object.entries({ ...recipient.metadata, ...recipient.substitution_data }).map(
          ([name, value]) => html`
            <div>
              <span class="soft">${name}:</span>
              ${" "}
              ${typeof value === "string" ? value : JSON.stringify(value)}
            </div>
          `,
        )}
      </td>
    </tr>
  `;
}
