// One suppressed recipient: why and since when, and taking it off the list.
import { html } from "../vendor/preact.js";
import { get, request } from "../core/api.js";
import { exactTime } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { go, href, route } from "../core/router.js";
import { may } from "../core/service.js";
import { EFFECTS, PATH, pathOf, TYPES } from "../core/suppressions.js";
import { Button, IconButton, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { keyOf, Source } from "./audience-suppressions.js";

export function RecipientView({ id, version, onChange }) {
  // The search finds nothing where the recipient's own path answers 404, which the browser logs
  const query = {
    recipient: id,
    types: Object.keys(TYPES).join(","),
    cursor: "initial",
    per_page: 10000,
  };
  const resource = useResource(
    async (signal) => (await get(PATH, query, { signal })).results,
    [id, version],
  );
  const close = (options) => go(["audience", "suppressions"], route.value.query, options);
  const destroy = removeAction({ id, resource, close, onChange });
  return html`
    <${Head} id=${id} query=${query} close=${close} />
    <div class="pane-body">
      <div class="pane-content">
        <${Entries} resource=${resource} id=${id} destroy=${destroy} />
      </div>
    </div>
  `;
}

function Entries({ resource, id, destroy }) {
  return html`
    <${Loaded} resource=${resource}>
      ${(entries) =>
        entries.length
          ? html`
            <div class="stack">
              ${
                may("message_events/view") &&
                html`
                  <div class="row wraps">
                    <${Button}
                      kind="small"
                      icon="activity"
                      href=${href(["activity"], { recipients: id, hours: "240" })}
                    >
                      Its events
                    <//>
                  </div>
                `
              }
              ${entries.map(
                (entry) => html`
                  <${Entry} key=${keyOf(entry)} entry=${entry} onRemove=${() => destroy(entry)} />
                `,
              )}
            </div>
          `
          : html`
            <${Empty} icon="user" title="This address is not suppressed">
              It gets mail. An earlier entry may have been removed.
            <//>
          `}
    <//>
  `;
}

function removeAction({ id, resource, close, onChange }) {
  return async (entry) => {
    const what = TYPES[entry.type].toLowerCase() + (entry.list_id ? `, list ${entry.list_id}` : "");
    if (
      !(await confirm({
        title: `Remove ${id}?`,
        text:
          `Its entry (${what}) is removed, and mail goes to it again. Remove an address ` +
          `only if its owner asked for it or its mailbox works again.`,
        action: "Remove",
      }))
    )
      return;
    // An entry of a subaccount is removed on its behalf; an empty list_id is an entry of no mailing
    // list
    /** @type {Record<string, string>} */
    const headers =
      entry.subaccount_id === undefined ? {} : { "X-SVC-SUBACCOUNT": String(entry.subaccount_id) };
    const path = `${pathOf(id)}?list_id=${encodeURIComponent(entry.list_id ?? "")}`;
    const last = resource.data.length === 1;
    if (
      !(await attempt(
        () => request("DELETE", path, { body: { type: entry.type }, headers }),
        "Removed",
      ))
    )
      return;
    if (last) close({ replace: true });
    onChange();
  };
}

function Head({ id, query, close }) {
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the list"
        kind="ghost small pane-back"
        onClick=${() => close()}
      />
      <h2 class="grow clip">${id}</h2>
      <${CurlButton} path=${PATH} query=${query} />
      <${IconButton} icon="x" label="Close" kind="ghost small" onClick=${() => close()} />
    </header>
  `;
}

function Entry({ entry, onRemove }) {
  const remove =
    entry.source === "Compliance"
      ? html`<span class="soft">Only the operator can remove it</span>`
      : html`
        <${Button} kind="small danger" icon="trash-2" onClick=${onRemove}>
          Remove<span class="visually-hidden"> ${TYPES[entry.type]}</span>
        <//>
      `;
  return html`
    <${Card} title=${TYPES[entry.type]} level=${3} actions=${remove}>
      <div class="stack">
        <p class="soft">${EFFECTS[entry.type]}</p>
        <dl class="facts">
          <dt>Source</dt>
          <dd><${Source} name=${entry.source} /></dd>
          ${entry.description && html`<dt>Why</dt><dd>${entry.description}</dd>`}
          <dt>Since</dt>
          <dd>${exactTime(entry.created)} (<${Time} at=${entry.created} />)</dd>
          ${
            entry.updated !== entry.created &&
            html`<dt>Updated</dt><dd>${exactTime(entry.updated)}</dd>`
          }
          <dt>Mailing list</dt>
          <dd>${entry.list_id ?? "Every list"}</dd>
          ${
            entry.subaccount_id !== undefined &&
            html`<dt>Of</dt><dd>Subaccount ${entry.subaccount_id}</dd>`
          }
        </dl>
      </div>
    <//>
  `;
}
