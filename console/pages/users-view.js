// One user: what they may do, how they sign in, and what can be done with them.
import { html, useState } from "../vendor/preact.js";
import { post, put, remove } from "../core/api.js";
import { exactTime } from "../core/format.js";
import { inFewWords, loadGrants } from "../core/grants.js";
import { useResource } from "../core/resource.js";
import { go, route } from "../core/router.js";
import { account, may, subaccountName } from "../core/service.js";
import { CUSTOM, MANAGE, nameOf, OF_ACCOUNT, roleName, ROLES, userPath } from "../core/users.js";
import { Badge, Button, Copyable, IconButton, Time } from "../parts/controls.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Empty, Loaded } from "../parts/feedback.js";
import { LastChanged } from "../parts/last-changed.js";
import { UserForm } from "./users-form.js";
import { UserSessions } from "./users-sessions.js";
import { Status, You } from "./users-status.js";

export function UserView({ id, users, onClose, onChange }) {
  const user = users.data?.find((each) => each.id === id);
  return html`
    <header class="pane-head">
      <${IconButton}
        icon="arrow-left"
        label="Back to the users"
        kind="ghost small pane-back"
        onClick=${onClose}
      />
      <h2 class="grow clip">${user ? nameOf(user) : "User"}</h2>
      <${IconButton} icon="x" label="Close" kind="ghost small" onClick=${onClose} />
    </header>
    <div class="pane-body">
      <div class="pane-content">
        <${Loaded} resource=${users}>
          ${() =>
            user
              ? html`<${Details} user=${user} onChange=${onChange} />`
              : html`
                <${Empty} icon="user-x" title="This user is not here">
                  The user was removed, or belongs to another account.
                <//>
              `}
        <//>
      </div>
    </div>
  `;
}

function Details({ user, onChange }) {
  const [changing, setChanging] = useState(false);
  return html`
    <div class="stack">
      <${Actions} user=${user} onChange=${onChange} setChanging=${setChanging} />
      <${Facts} user=${user} />
      <${LastChanged} resource="users" id=${user.id} of=${user} />
      ${user.status === "active" && html`<${UserSessions} user=${user} />`}
      ${
        changing &&
        html`<${UserForm} former=${user} onClose=${() => setChanging(false)} onSaved=${onChange} />`
      }
    </div>
  `;
}

function Facts({ user }) {
  return html`
    <dl class="facts">
      <dt>Address</dt>
      <dd><${Copyable} text=${user.email} class="" /></dd>
      <dt>Status</dt>
      <dd class="row"><${Status} user=${user} /><${You} user=${user} /></dd>
      <dt>Role</dt>
      <dd>
        ${roleName(user.role)}
        ${
          user.role === CUSTOM
            ? html`<${Grants} grants=${user.grants} />`
            : html`<div class="soft">${ROLES.find(([role]) => role === user.role)?.[2]}</div>`
        }
      </dd>
      ${
        user.subaccount_id && html`<dt>Sees</dt><dd>${subaccountName(user.subaccount_id)} only</dd>`
      }
      <dt>Second factor</dt>
      <dd>
        ${
          user.tfa_enabled
            ? html`<${Badge} tone="good" icon="shield-check">On<//>`
            : account.value?.tfa_required
              ? html`<${Badge} tone="warn" icon="shield-alert">Must be set up<//>`
              : "None"
        }
      </dd>
      <dt>Last sign-in</dt>
      <dd>
        ${
          user.last_sign_in
            ? html`${exactTime(user.last_sign_in)} (<${Time} at=${user.last_sign_in} />)`
            : "Never"
        }
      </dd>
      <dt>Since</dt>
      <dd>${exactTime(user.created)}</dd>
    </dl>
  `;
}

function Grants({ grants }) {
  const offer = useResource((signal) => loadGrants(signal));
  return html`
    <div class="soft">
      ${offer.data ? inFewWords(grants, offer.data) : grants.join(", ")}
    </div>
  `;
}

function Actions({ user, onChange, setChanging }) {
  const act = actionsOf(user, onChange);
  const button = (text, icon, run, kind = "") => html`
    <${Button} kind="small ${kind}" icon=${icon} disabled=${!may(MANAGE)} onClick=${run}>
      ${text}
    <//>
  `;
  return html`
    <div class="row wraps">
      ${button("Change", "pencil", () => setChanging(true))}
      ${user.status === "invited" && button("Invite again", "mail", act.invite)}
      ${user.status === "disabled" && button("Enable", "circle-check", act.enable)}
      ${user.tfa_enabled && button("Reset second factor", "rotate-ccw", act.resetFactor)}
      ${user.status === "active" && button("Disable", "ban", act.disable, "danger")}
      ${button("Remove", "trash-2", act.destroy, "danger")}
    </div>
  `;
}

/** What can be done with a user; each asks first if it takes something away. */
function actionsOf(user, onChange) {
  const path = userPath(user.id);
  const name = nameOf(user);
  const run = (work, done) => attempt(() => work().then(onChange), done);
  const ask = async (question, work, done) => (await confirm(question)) && run(work, done);
  return {
    invite: () =>
      run(
        () => post(`${path}/invitation`, undefined, OF_ACCOUNT),
        `The invitation is on its way to ${user.email}`,
      ),
    enable: () => run(() => put(path, { status: "active" }, OF_ACCOUNT), "Enabled"),
    disable: () =>
      ask(
        {
          title: `Disable ${name}?`,
          text:
            "All sessions of this user end, and signing in is refused until you enable the user " +
            "again. API keys that the user made go on working.",
          action: "Disable",
        },
        () => put(path, { status: "disabled" }, OF_ACCOUNT),
        "Disabled",
      ),
    resetFactor: () =>
      ask(
        {
          title: `Reset the second factor of ${name}?`,
          text:
            "The authenticator, passkeys and recovery codes of this user stop working, and all " +
            "sessions end. Do this if they are lost, and only if you are sure who asks you.",
          action: "Reset",
        },
        () => remove(`${path}/second-factor`, undefined, OF_ACCOUNT),
        "The second factor is reset",
      ),
    destroy: () =>
      ask(
        {
          title: `Remove ${name}?`,
          text:
            "The user is erased and cannot sign in any more. What the user made stays, and API " +
            "keys that the user made go on working: delete those that are not needed. The audit " +
            "log keeps an id in place of the name.",
          action: "Remove",
          typed: user.email,
        },
        async () => {
          await remove(path, undefined, OF_ACCOUNT);
          go(["users"], route.value.query, { replace: true });
        },
        "Removed",
      ),
  };
}
