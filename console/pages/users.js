// Users: the people of the account, what each may do, and inviting one.
import { html, useState } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { plural } from "../core/format.js";
import { useResource } from "../core/resource.js";
import { go, href, route, setQuery } from "../core/router.js";
import { may, subaccountName } from "../core/service.js";
import { MANAGE, nameOf, OF_ACCOUNT, roleName, roleOf, statusOf, USERS } from "../core/users.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { CurlButton } from "../parts/code.js";
import { Empty, Loaded } from "../parts/feedback.js";
import { List } from "../parts/list.js";
import { SearchField } from "../parts/search-field.js";
import { UserForm } from "./users-form.js";
import { Status, You } from "./users-status.js";
import { UserView } from "./users-view.js";

const BESIDE_DETAILS = [{ label: "User", width: "minmax(0, 1fr)" }];
const COLUMNS = [
  { label: "User", width: "minmax(160px, 3fr)" },
  { label: "Role", width: "minmax(120px, 1.4fr)", class: "wide" },
  { label: "Status", width: "104px", class: "wide" },
  { label: "Second factor", width: "112px", class: "wide" },
  { label: "Last sign-in", width: "104px", class: "wide right" },
];

export default function Users() {
  const { path, query } = route.value;
  const selected = path[1];
  const resource = useResource(async (signal) => {
    const { results } = await get(USERS, undefined, { signal, ...OF_ACCOUNT });
    return results.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  });
  const [inviting, setInviting] = useState(false);
  const close = () => go(["users"], query);
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Users</h1>
      <div class="panes ${selected ? "open" : "alone"}">
        <section class="pane" aria-label="Users">
          <header class="pane-head">
            <span class="pane-title" aria-hidden="true">Users</span>
            <${CurlButton} path=${USERS} />
          </header>
          <${Tools} query=${query} setInviting=${setInviting} />
          <${Loaded} resource=${resource}>
            ${(users) => html`<${Matching} users=${users} selected=${selected} query=${query} />`}
          <//>
        </section>
        ${
          selected &&
          html`
            <section class="pane" aria-label="User">
              <${UserView}
                key=${selected}
                id=${selected}
                users=${resource}
                onClose=${close}
                onChange=${resource.reload}
              />
            </section>
          `
        }
      </div>
      ${
        inviting &&
        html`<${UserForm} onClose=${() => setInviting(false)} onSaved=${resource.reload} />`
      }
    </div>
  `;
}

function Tools({ query, setInviting }) {
  return html`
    <div class="pane-tools">
      <div class="toolbar">
        <${SearchField}
          label="Name, address or role"
          value=${query.q ?? ""}
          onInput=${(q) => setQuery({ q })}
        />
        <${Button}
          kind="primary"
          icon="plus"
          disabled=${!may(MANAGE)}
          onClick=${() => setInviting(true)}
        >
          Invite
        <//>
      </div>
      ${
        !may(MANAGE) &&
        html`
          <p class="soft">Who invites and changes users needs the grant <code>${MANAGE}</code>.</p>
        `
      }
    </div>
  `;
}

function Matching({ users, selected, query }) {
  const needle = (query.q ?? "").toLowerCase();
  const rows = users.filter((each) =>
    `${each.name} ${each.email} ${roleName(each.role)}`.toLowerCase().includes(needle),
  );
  if (!users.length)
    return html`
      <${Empty} icon="users" title="No user yet">
        A user signs in to the console with a password or a passkey, and sees what the role allows.
      <//>
    `;
  if (!rows.length)
    return html`
      <${Empty}
        icon="search"
        title="No user matches"
        actions=${html`<${Button} onClick=${() => setQuery({ q: "" })}>Show all users<//>`}
      />
    `;
  return html`
    <${List}
      label="Users"
      rows=${rows}
      id=${(row) => row.id}
      link=${(row) => href(["users", row.id], query)}
      name=${(row) => `${nameOf(row)}, ${roleName(row.role)}, ${statusOf(row)[0]}`}
      active=${selected}
      columns=${selected ? BESIDE_DETAILS : COLUMNS}
      rowHeight=${62}
      narrowHeight=${62}
      cells=${(row, narrow) => cells(row, narrow || selected)}
      foot=${html`<p class="grid-foot">${plural(rows.length, "user")}</p>`}
    />
  `;
}

const cells = (row, narrow) => {
  if (narrow)
    return html`
      <span role="cell" class="event-lines">
        <span class="row apart">
          <span class="row">
            <span class="clip strong">${nameOf(row)}</span><${You} user=${row} />
          </span>
          <${Status} user=${row} />
        </span>
        <span class="soft clip">${roleOf(row)}${row.name && `, ${row.email}`}</span>
      </span>
    `;
  return html`
    <span role="cell" class="event-lines">
      <span class="row">
        <span class="clip strong">${nameOf(row)}</span><${You} user=${row} />
      </span>
      ${row.name && html`<span class="soft clip">${row.email}</span>`}
    </span>
    <span role="cell" class="event-lines">
      <span class="clip">${roleName(row.role)}</span>
      ${
        row.subaccount_id &&
        html`<span class="soft clip">${subaccountName(row.subaccount_id)}</span>`
      }
    </span>
    <span role="cell"><${Status} user=${row} /></span>
    <span role="cell">
      ${
        row.tfa_enabled
          ? html`<${Badge} tone="good" icon="shield-check">On<//>`
          : html`<span class="soft">None</span>`
      }
    </span>
    <span role="cell" class="right soft">
      ${row.last_sign_in ? html`<${Time} at=${row.last_sign_in} />` : "Never"}
    </span>
  `;
};
