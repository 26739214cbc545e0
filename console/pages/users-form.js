// Inviting a user, and changing the name, role, subaccount and grants of one.
import { html, useState } from "../vendor/preact.js";
import { post, put } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { subaccountName, subaccounts } from "../core/service.js";
import {
  bodyOf,
  CUSTOM,
  isConfinable,
  loadGiving,
  OF_ACCOUNT,
  ROLES,
  userPath,
  USERS,
} from "../core/users.js";
import { SelectField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { Loaded, toast } from "../parts/feedback.js";
import { GrantsField } from "../parts/grants.js";
import { LastChanged } from "../parts/last-changed.js";

/** `former` is the user to change; without it one is invited. */
export function UserForm({ former, onClose, onSaved }) {
  const giving = useResource((signal) => loadGiving(signal));
  const [fields, setFields] = useState(() => fieldsOf(former));
  const change = (part) => setFields((present) => ({ ...present, ...part }));
  const save = async () => {
    const body = bodyOf(fields, former);
    if (former) await put(userPath(former.id), body, OF_ACCOUNT);
    else await post(USERS, body, OF_ACCOUNT);
    toast(former ? "Saved" : `The invitation is on its way to ${body.email}`);
    onSaved();
  };
  return html`
    <${Dialog}
      wide
      title=${former ? "Change user" : "Invite a user"}
      submit=${former ? "Save" : "Send invitation"}
      disabled=${!giving.data || isIncomplete(fields)}
      onClose=${onClose}
      onSubmit=${save}
    >
      <div class="form-grid">
        ${!former && html`<${AddressField} value=${fields.email} change=${change} />`}
        <${TextField}
          label="Name"
          optional
          maxlength="100"
          autocomplete="off"
          value=${fields.name}
          onInput=${(name) => change({ name })}
        />
      </div>
      <${Loaded} resource=${giving}>
        ${({ roles, grants }) => html`
          <${RoleField}
            value=${fields.role}
            former=${former?.role}
            roles=${roles}
            onChange=${(role) => change({ role })}
          />
          ${
            isConfinable(fields.role) &&
            html`<${SubaccountField} value=${fields.subaccount} change=${change} />`
          }
          ${
            fields.role === CUSTOM &&
            html`
              <${GrantsField}
                legend="What the user may do"
                offer=${grants}
                chosen=${fields.chosen}
                onChange=${(chosen) => change({ chosen })}
              />
            `
          }
        `}
      <//>
      ${former && html`<${LastChanged} resource="users" id=${former.id} />`}
    <//>
  `;
}

const fieldsOf = (former) => ({
  email: former?.email ?? "",
  name: former?.name ?? "",
  role: former?.role ?? "",
  subaccount: former?.subaccount_id ? String(former.subaccount_id) : "",
  chosen: new Set(former?.role === CUSTOM ? former.grants : []),
});

const isIncomplete = ({ email, role, chosen }) =>
  !/^\S+@\S+$/.test(email.trim()) || !role || (role === CUSTOM && !chosen.size);

function AddressField({ value, change }) {
  return html`
    <${TextField}
      label="Address"
      type="email"
      spellcheck="false"
      autocomplete="off"
      placeholder="ann@example.com"
      hint="The invitation goes there. It is good for 72 hours, once."
      value=${value}
      onInput=${(email) => change({ email })}
    />
  `;
}

/** The roles on offer: those that the viewer may give, and the one that the user has. */
function RoleField({ value, former, roles, onChange }) {
  return html`
    <fieldset class="checks choices-of-one">
      <legend class="label">Role</legend>
      ${ROLES.filter(([role]) => roles.includes(role) || role === former).map(
        ([role, name, about]) => html`
          <label class="check" key=${role}>
            <input
              type="radio"
              name="role"
              value=${role}
              checked=${role === value}
              onChange=${() => onChange(role)}
            />
            <span>${name}<span class="soft"><br />${about}</span></span>
          </label>
        `,
      )}
    </fieldset>
  `;
}

function SubaccountField({ value, change }) {
  const all = subaccounts.value.map((each) => [String(each.id), each.name]);
  if (value && !all.some(([id]) => id === value)) all.push([value, subaccountName(Number(value))]);
  if (!all.length) return null;
  return html`
    <${SelectField}
      label="Sees"
      hint="A user of a subaccount sees nothing of the account and of other subaccounts."
      value=${value}
      onChange=${(subaccount) => change({ subaccount })}
      options=${[["", "The whole account"], ...all]}
    />
  `;
}
