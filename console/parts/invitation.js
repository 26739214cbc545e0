// The page of an invitation: whom it is for, and the name and password that they choose.
import { html, useState } from "../vendor/preact.js";
import { get, post } from "../core/api.js";
import { signInBy } from "../core/entering.js";
import { dismiss } from "../core/people.js";
import { useResource } from "../core/resource.js";
import { visit } from "../core/session.js";
import { roleName } from "../core/roles.js";
import { Button, TextField } from "./controls.js";
import {
  Entrance,
  objectionTo,
  PASSWORD_HINT,
  PasswordField,
  Problem,
  reasonOf,
  SHORTEST,
  useForm,
} from "./entrance.js";
import { ErrorBox, Notice, Skeleton } from "./feedback.js";

export default function Invitation() {
  const [path] = useState(`api/v1/invitations/${encodeURIComponent(visit.value?.value ?? "")}`);
  const resource = useResource((signal) => get(path, undefined, { signal }));
  const { data, error } = resource;
  if (data) return html`<${Welcome} path=${path} invitation=${data.results} />`;
  if ([400, 404, 410].includes(error?.status)) return html`<${Gone} />`;
  return html`
    <${Entrance} title="Your invitation">
      ${
        error
          ? html`<${ErrorBox} error=${error} retry=${resource.reload} />`
          : html`<${Skeleton} height=${20} /><${Skeleton} height=${120} />`
      }
    <//>
  `;
}

function Gone() {
  return html`
    <${Entrance} title="This invitation does not work any more">
      <${Notice} tone="warn" icon="clock">
        It works once and for 72 hours. Ask an administrator of the account to send it again. If you
        have accepted it before, sign in.
      <//>
      <${Button} kind="primary" onClick=${dismiss}>Sign in<//>
    <//>
  `;
}

function Welcome({ path, invitation }) {
  const { email, role, company_name: company } = invitation;
  const [name, setName] = useState(invitation.name ?? "");
  const [password, setPassword] = useState("");
  const [missing, setMissing] = useState(/** @type {Record<string, string>} */ ({}));
  const form = useForm(async () => {
    const problems = problemsOf(name, password);
    setMissing(problems);
    if (problems.name || problems.password) return;
    await signInBy(() => post(path, { name: name.trim(), password }));
  });
  const change = (set) => (text) => {
    set(text);
    setMissing({});
    form.setError(null);
  };
  const objections = ["password", "name"].map((each) => objectionTo(form.error, each));
  return html`
    <${Entrance}
      title="Welcome to ${company}"
      about=${html`
        You are invited as <strong>${roleName(role)}</strong>. Choose a password to begin.
      `}
    >
      <${Problem} text=${form.error && !objections.some(Boolean) ? reasonOf(form.error) : ""} />
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${TextField}
          label="Email address"
          type="email"
          name="email"
          value=${email}
          onInput=${() => {}}
          readonly
          autocomplete="username"
        />
        <${TextField}
          label="Your name"
          name="name"
          maxlength="100"
          value=${name}
          problem=${missing.name || (!objections[0] && objections[1])}
          onInput=${change(setName)}
          autocomplete="name"
          autofocus=${!name}
        />
        <${PasswordField}
          label="Password"
          name="new-password"
          hint=${PASSWORD_HINT}
          problem=${missing.password || objections[0]}
          value=${password}
          onInput=${change(setPassword)}
          autocomplete="new-password"
          autofocus=${Boolean(name)}
        />
        <${Button} type="submit" kind="primary" busy=${form.busy}>Begin<//>
      </form>
    <//>
  `;
}

function problemsOf(name, password) {
  return {
    name: name.trim() ? "" : "Enter your name.",
    password: password.length < SHORTEST ? `It needs ${SHORTEST} characters or more.` : "",
  };
}
