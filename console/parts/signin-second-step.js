// The second step of signing in: a code of the authenticator app, a recovery code, or a passkey.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { hasPasskeys, signInByPasskey } from "../core/passkeys.js";
import { signInBy } from "../core/entering.js";
import { Button, TextField } from "./controls.js";
import { Entrance, Problem, reasonOf, useFirstField, useForm } from "./entrance.js";

/** `methods`: of `totp` and `passkey`, the factors that the person has. */
export function SecondStep({ email, password, methods, back }) {
  const mayUsePasskey = methods.includes("passkey") && hasPasskeys();
  const hasUsualWay = methods.includes("totp") || mayUsePasskey;
  const [isRecovery, setRecovery] = useState(!hasUsualWay);
  const asksForCode = isRecovery || methods.includes("totp");
  const [problem, say] = useState("");
  const passkey = useForm(() => signInByPasskey().catch((error) => say(problemOf(error))));
  return html`
    <${Entrance} title="Confirm that it is you" about=${aboutOf(isRecovery, asksForCode)}>
      <${Problem} text=${problem} />
      ${
        asksForCode &&
        html`
          <${CodeForm}
            key=${isRecovery}
            isRecovery=${isRecovery}
            given=${{ email: email.trim(), password }}
            setProblem=${say}
          />
        `
      }
      ${
        mayUsePasskey &&
        html`
          <${Button}
            icon="key"
            kind=${asksForCode ? "" : "primary"}
            busy=${passkey.busy}
            onClick=${passkey.submit}
          >
            Use a passkey
          <//>
        `
      }
      <div class="links">
        ${
          hasUsualWay &&
          html`
            <button
              type="button"
              class="text-link"
              onClick=${() => {
                setRecovery(!isRecovery);
                say("");
              }}
            >
              ${isRecovery ? "Back to the usual way" : "Use a recovery code"}
            </button>
          `
        }
        <button type="button" class="text-link" onClick=${back}>Sign in as somebody else</button>
      </div>
    <//>
  `;
}

function CodeForm({ isRecovery, given, setProblem }) {
  useFirstField();
  const [code, setCode] = useState("");
  const form = useForm(async () => {
    if (!code.trim()) return setProblem("Enter the code.");
    setProblem("");
    try {
      const body = { ...given, code: code.trim() };
      if (await signInBy(() => post("api/v1/sign-in", body))) setProblem(WRONG);
    } catch (error) {
      setProblem(problemOf(error));
    }
    return undefined;
  });
  return html`
    <form class="stack" onSubmit=${form.submit} novalidate>
      <${TextField}
        label=${isRecovery ? "Recovery code" : "Code"}
        name="code"
        value=${code}
        onInput=${(text) => {
          setCode(text);
          setProblem("");
        }}
        inputmode=${isRecovery ? "text" : "numeric"}
        autocomplete=${isRecovery ? "off" : "one-time-code"}
        class="mono"
        spellcheck=${false}
        autocapitalize="none"
        autofocus
      />
      <${Button} type="submit" kind="primary" busy=${form.busy}>Go on<//>
    </form>
  `;
}

const WRONG = "This code is wrong, or was used before. Wait for the next one.";

function aboutOf(isRecovery, asksForCode) {
  if (isRecovery) return "Enter one of the recovery codes that you kept. Each works once.";
  return asksForCode
    ? "Enter the six digits that your authenticator app shows now."
    : "Your passkey is the second factor.";
}

function problemOf(error) {
  if (!error) return "";
  return error.status === 401 ? WRONG : reasonOf(error);
}
