// One line of the audit log: who did what from where, and the changed fields before and after.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import {
  actorName,
  AUDIT_LOG,
  isRefused,
  pageOf,
  resourceName,
  resourceNoun,
  sentenceOf,
  subjectName,
} from "../core/audit.js";
import { exactTime } from "../core/format.js";
import { fieldName } from "../core/messages.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { subaccountName } from "../core/service.js";
import { Badge, Button, copy, Copyable, IconButton, Time } from "../parts/controls.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { pageHref } from "../parts/links.js";

const SECOND = 1000;

/** The line of an id, which begins with its time in milliseconds. */
async function find(id, signal) {
  const time = Number(id.slice(0, 13));
  if (!time) return null;
  const [from, to] = [time - SECOND, time + SECOND].map((each) => new Date(each).toISOString());
  const { results } = await get(AUDIT_LOG, { from, to, per_page: 1000 }, { signal });
  return results.find((each) => each.id === id) ?? null;
}

/** `line` is the one of `id` if the list has it; it is looked for otherwise. */
export function LineView({ id, line, people, onClose }) {
  const resource = useResource((signal) => line ?? find(id, signal), [id]);
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the log"
        kind="ghost small pane-back"
        onClick=${onClose}
      />
      <h2 class="grow clip">Change</h2>
      ${
        resource.data &&
        html`
          <${IconButton}
            icon="copy"
            kind="ghost small"
            label="Copy as JSON"
            onClick=${() => copy(JSON.stringify(resource.data, null, 2))}
          />
        `
      }
      <${IconButton} icon="x" label="Close" kind="ghost small" onClick=${onClose} />
    </header>
    <div class="pane-body">
      <div class="pane-content">
        <${Loaded} resource=${resource}>
          ${(data) =>
            data
              ? html`<${Details} line=${data} people=${people} />`
              : html`
                <${Empty} icon="history" title="This line is not here">
                  Lines are kept for a time that the operator sets, and then deleted.
                <//>
              `}
        <//>
      </div>
    </div>
  `;
}

function Details({ line, people }) {
  const changes = Object.entries(line.changes ?? {}).filter(
    ([, { from, to }]) => !isNothing(from) || !isNothing(to),
  );
  return html`
    <div class="stack">
      <p class="strong wrap">${sentenceOf(line, people)}</p>
      ${isRefused(line) && html`<div><${Badge} tone="bad" icon="ban">Refused<//></div>`}
      <${Places} line=${line} />
      <${Facts} line=${line} people=${people} />
      ${
        changes.length > 0 &&
        html`
          <section class="stack small" aria-label="Changed fields">
            <h3>Changed fields</h3>
            <dl class="audit-changes">
              ${changes.map(
                ([field, change]) => html`<${Change} key=${field} field=${field} ...${change} />`,
              )}
            </dl>
          </section>
        `
      }
    </div>
  `;
}

/** Where to go on from a line. */
function Places({ line }) {
  const page = pageOf(line);
  const target = page && pageHref(page);
  const { resource, resource_id: id, actor } = line;
  return html`
    <div class="row wraps">
      ${
        target &&
        html`
          <${Button} kind="small" icon="external-link" href=${target}>
            Open ${resourceNoun(resource)}
          <//>
        `
      }
      ${
        id &&
        html`
          <${Button}
            kind="small"
            icon="history"
            href=${href(["audit-log"], { resource, resource_id: id })}
          >
            All changes of it
          <//>
        `
      }
      ${
        actor.id &&
        html`
          <${Button} kind="small" icon="user" href=${href(["audit-log"], { actor: actor.id })}>
            All by the same
          <//>
        `
      }
    </div>
  `;
}

const ACTOR_KINDS = { user: "User", key: "API key", operator: "Command of the operator" };

function Facts({ line, people }) {
  const { actor } = line;
  const name = subjectName(line, people);
  return html`
    <dl class="facts">
      <dt>Who</dt>
      <dd>
        ${actorName(actor, people)}
        <div class="soft">
          ${ACTOR_KINDS[actor.type] ?? actor.type}${" "}
          ${actor.id && html`<${Copyable} text=${actor.id} />`}
        </div>
      </dd>
      <dt>When</dt>
      <dd>${exactTime(line.ts)} (<${Time} at=${line.ts} />)</dd>
      <dt>On</dt>
      <dd>
        ${resourceName(line.resource)}${name && name !== line.resource_id ? `: ${name}` : ""}
        ${line.resource_id && html`<div><${Copyable} text=${line.resource_id} /></div>`}
      </dd>
      ${line.subaccount_id && html`<dt>Of</dt><dd>${subaccountName(line.subaccount_id)}</dd>`}
      <dt>Request</dt>
      <dd class="mono wrap">${line.action} ${line.path}</dd>
      ${line.ip && html`<dt>Address</dt><dd><${Copyable} text=${line.ip} /></dd>`}
      ${
        line.request_id && html`<dt>Request id</dt><dd><${Copyable} text=${line.request_id} /></dd>`
      }
    </dl>
  `;
}

const FIELD_NAMES = { tfa_enabled: "Second factor", tfa_required: "Two factors required" };

const isNothing = (value) =>
  value === null || value === undefined || value === "" || value?.length === 0;

/** A value in few words; lists of texts comma-separated. */
function textOf(value) {
  if (typeof value === "string") return value;
  const plain = Array.isArray(value) && value.every((each) => typeof each === "string");
  return plain ? value.join(", ") : JSON.stringify(value);
}

function Change({ field, from, to }) {
  const value = (each, kind, word) => html`
    <div class="audit-value ${kind}">
      <span class="visually-hidden">${word}: </span>
      ${isNothing(each) ? html`<span class="soft">nothing</span>` : textOf(each)}
    </div>
  `;
  return html`
    <dt title=${field}>${FIELD_NAMES[field] ?? fieldName(field)}</dt>
    <dd>
      ${!isNothing(from) && value(from, "from", "From")}
      ${value(to, "to", "To")}
    </dd>
  `;
}
