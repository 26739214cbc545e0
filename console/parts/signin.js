// The page on which people sign in: by password, passkey or provider, with a second step where one
// is asked for; or with an API key, for a key's view.
import { html, useEffect, useState } from "../vendor/preact.js";
import { address, get, post } from "../core/api.js";
import { hasPasskeys, signInByPasskey } from "../core/passkeys.js";
import { signInBy } from "../core/entering.js";
import { local } from "../core/service.js";
import { notice } from "../core/session.js";
import { Button, TextField } from "./controls.js";
import { Entrance, PasswordField, Problem, reasonOf, useForm } from "./entrance.js";
import { Notice } from "./feedback.js";
import { KeyForm } from "./signin-key.js";
import { ForgottenPassword } from "./signin-forgotten.js";
import { SecondStep } from "./signin-second-step.js";

const PATH = "api/v1/sign-in";

export default function SignIn() {
  const [view, setView] = useState("password");
  const [email, setEmail] = useState("");
  // The password and the ways to show a second factor, once that is all that is missing
  const [step, setStep] = useState(/** @type {any} */ (null));
  const back = () => {
    setStep(null);
    setView("password");
  };
  if (step) return html`<${SecondStep} email=${email} ...${step} back=${back} />`;
  if (view === "key") return html`<${KeyForm} back=${back} />`;
  if (view === "forgotten") return html`<${ForgottenPassword} email=${email} back=${back} />`;
  return html`
    <${PasswordForm}
      email=${email}
      setEmail=${setEmail}
      setStep=${setStep}
      setView=${setView}
    />
  `;
}

function PasswordForm({ email, setEmail, setStep, setView }) {
  const [password, setPassword] = useState("");
  const [missing, setMissing] = useState("");
  const form = useForm(async () => {
    setMissing(missingOf(email, password));
    if (missingOf(email, password)) return;
    const body = { email: email.trim(), password };
    const further = await signInBy(() => post(PATH, body));
    if (further) setStep({ ...further, password });
  });
  const passkey = useForm(signInByPasskey);
  const change = (set) => (text) => {
    set(text);
    setMissing("");
    form.setError(null);
    passkey.setError(null);
    notice.value = "";
  };
  return html`
    <${Entrance} title="Sign in">
      <${Told} problem=${missing || problemOf(form.error) || problemOf(passkey.error)} />
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${TextField}
          label="Email address"
          type="email"
          name="email"
          value=${email}
          onInput=${change(setEmail)}
          autocomplete="username"
          spellcheck=${false}
          autocapitalize="none"
          autofocus
        />
        <${PasswordField}
          label="Password"
          name="password"
          value=${password}
          onInput=${change(setPassword)}
          autocomplete="current-password"
        />
        <${Button} type="submit" kind="primary" busy=${form.busy}>Sign in<//>
      </form>
      <${OtherWays} passkey=${passkey} />
      <${Foot} setView=${setView} />
    <//>
  `;
}

/** Why the page is shown, until there is something wrong with what was entered. */
function Told({ problem }) {
  return html`
    <${Problem} text=${problem} />
    <div role="status" class=${notice.value && !problem ? "" : "visually-hidden"}>
      ${notice.value && !problem && html`<${Notice}>${notice.value}<//>`}
    </div>
  `;
}

function Foot({ setView }) {
  return html`
    <div class="links">
      <button type="button" class="text-link" onClick=${() => setView("forgotten")}>
        Forgot the password?
      </button>
      <button type="button" class="text-link" onClick=${() => setView("key")}>
        Use an API key instead
      </button>
    </div>
    ${
      local.value &&
      html`
        <p class="faint">
          On this machine, the link that <code>postfinch run</code> prints signs you in.
        </p>
      `
    }
  `;
}

function missingOf(email, password) {
  if (!email.trim()) return "Enter your email address.";
  return password ? "" : "Enter your password.";
}

function problemOf(error) {
  if (!error) return "";
  if (error.status === 401) return "The address or the password is wrong.";
  return reasonOf(error);
}

/** Passkeys, if the browser has them, and the providers that the service is set up for. */
function OtherWays({ passkey }) {
  const [providers, setProviders] = useState(/** @type {{id: string, name: string}[]} */ ([]));
  useEffect(() => {
    get(`${PATH}/providers`).then(
      ({ results }) => setProviders(results),
      () => {}, // the other ways work without them
    );
  }, []);
  if (!hasPasskeys() && !providers.length) return null;
  return html`
    <div class="stack small ways">
      <span class="or">or</span>
      ${
        hasPasskeys() &&
        html`
          <${Button} icon="key" busy=${passkey.busy} onClick=${passkey.submit}>
            Sign in with a passkey
          <//>
        `
      }
      ${providers.map(
        ({ id, name }) => html`
          <${Button}
            key=${id}
            icon="external-link"
            href=${address(`${PATH}/providers/${encodeURIComponent(id)}`)}
          >
            Sign in with ${name}
          <//>
        `,
      )}
    </div>
  `;
}
