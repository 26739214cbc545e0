// The profile of the person who is signed in: name, password, second factor, sessions.
import { html, useState } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { OWN, reloadPerson } from "../core/people.js";
import { subaccountName } from "../core/service.js";
import { person } from "../core/session.js";
import { roleName } from "../core/roles.js";
import { Button, TextField } from "../parts/controls.js";
import { Problem, reasonOf, useForm } from "../parts/entrance.js";
import { toast } from "../parts/feedback.js";
import { Card, PageHead } from "../parts/page.js";
import { Factors } from "./profile-factors.js";
import { Password } from "./profile-password.js";
import { Sessions } from "./profile-sessions.js";

export default function Profile() {
  return html`
    <div class="page">
      <${PageHead} title="Your profile" about="Who you are here, and how you sign in." />
      <div class="columns">
        <div class="stack">
          <${About} />
          <${Password} />
        </div>
        <div class="stack">
          <${Factors} />
        </div>
      </div>
      <${Sessions} />
    </div>
  `;
}

function About() {
  const { name, email, role, subaccount_id: subaccount, account } = person.value;
  const [entry, setEntry] = useState(name);
  const form = useForm(async () => {
    await put("api/v1/me", { name: entry.trim() }, OWN);
    await reloadPerson();
    toast("Saved");
  });
  return html`
    <${Card} title="About you">
      <form class="stack" onSubmit=${form.submit} novalidate>
        <dl class="facts">
          <dt>Address</dt>
          <dd class="wrap">${email}</dd>
          <dt>Role</dt>
          <dd>${roleName(role)}</dd>
          <dt>Account</dt>
          <dd>
            ${account?.company_name}
            ${subaccount !== null && `, ${subaccountName(String(subaccount))}`}
          </dd>
        </dl>
        <${Problem} text=${form.error && reasonOf(form.error)} />
        <${TextField}
          label="Name"
          name="name"
          maxlength="100"
          value=${entry}
          onInput=${(text) => {
            setEntry(text);
            form.setError(null);
          }}
          autocomplete="name"
        />
        <div>
          <${Button}
            type="submit"
            busy=${form.busy}
            disabled=${!entry.trim() || entry.trim() === name}
          >
            Save name
          <//>
        </div>
      </form>
    <//>
  `;
}
