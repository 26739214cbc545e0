// The page of somebody whose account asks for a second factor, until they have set one up, or have
// shown the one that they have.
import { html, useState } from "../vendor/preact.js";
import { get, put } from "../core/api.js";
import { hasPasskeys, signInByPasskey } from "../core/passkeys.js";
import { enter, leave, OWN } from "../core/people.js";
import { useResource } from "../core/resource.js";
import { Button, TextField } from "./controls.js";
import { Entrance, Problem, reasonOf, useFirstField, useForm } from "./entrance.js";
import { attempt, Loaded } from "./feedback.js";
import {
  AuthenticatorSetUp,
  FactorChoice,
  PasskeySetUp,
  PATH,
  RecoveryCodes,
} from "./second-factor.js";

const TITLES = {
  "": "Set up a second factor",
  totp: "Authenticator app",
  passkey: "Passkey",
  codes: "Your recovery codes",
};
const ABOUT =
  "This account asks for a second factor of everybody. With it a stolen password is not enough.";

export default function Enrolment() {
  const resource = useResource((signal) => get(PATH, undefined, { ...OWN, signal }));
  const factors = resource.data?.results;
  if (!factors)
    return html`
      <${Entrance} wide title=${TITLES[""]} about=${ABOUT}>
        <${Loaded} resource=${resource} />
        <${SignOut} />
      <//>
    `;
  return factors.totp || factors.passkeys.length
    ? html`<${Confirmation} factors=${factors} />`
    : html`<${SetUp} />`;
}

const SignOut = () => html`
  <${Button} kind="ghost small" icon="log-out" onClick=${() => attempt(leave)}>Sign out<//>
`;

function SetUp() {
  const [kind, setKind] = useState("");
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const done = (fresh) => {
    if (!fresh.length) return enter();
    setCodes(fresh);
    return setKind("codes");
  };
  return html`
    <${Entrance} wide title=${TITLES[kind]} about=${kind ? "" : ABOUT}>
      ${kind === "" && html`<${FactorChoice} onChoose=${setKind} />`}
      ${kind === "totp" && html`<${AuthenticatorSetUp} onDone=${done} />`}
      ${kind === "passkey" && html`<${PasskeySetUp} onDone=${done} />`}
      ${kind === "codes" && html`<${RecoveryCodes} codes=${codes} onDone=${enter} />`}
      <div class="links">
        ${
          ["totp", "passkey"].includes(kind) &&
          html`
            <button type="button" class="text-link" onClick=${() => setKind("")}>
              Choose another way
            </button>
          `
        }
        ${kind !== "codes" && html`<${SignOut} />`}
      </div>
    <//>
  `;
}

/** Show a factor that is set up, where the way of signing in did not ask for it. */
function Confirmation({ factors }) {
  useFirstField();
  const [code, setCode] = useState("");
  const form = useForm(async () => {
    if (!code.trim()) throw new Error("Enter the code.");
    await put(PATH, { code: code.trim() }, OWN);
    await enter();
  });
  const passkey = useForm(signInByPasskey);
  const error = form.error ?? passkey.error;
  return html`
    <${Entrance}
      title="Confirm that it is you"
      about="Enter a code of your authenticator app, or one of your recovery codes."
    >
      <${Problem} text=${error && reasonOf(error)} />
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${TextField}
          label="Code"
          name="code"
          value=${code}
          onInput=${(text) => {
            setCode(text);
            form.setError(null);
          }}
          autocomplete="one-time-code"
          class="mono"
          spellcheck=${false}
          autofocus
        />
        <${Button} type="submit" kind="primary" busy=${form.busy}>Go on<//>
      </form>
      ${
        factors.passkeys.length > 0 &&
        hasPasskeys() &&
        html`
          <${Button} icon="key" busy=${passkey.busy} onClick=${passkey.submit}>Use a passkey<//>
        `
      }
      <div class="links"><${SignOut} /></div>
    <//>
  `;
}
