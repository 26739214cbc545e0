// Set up a second factor: choose which, show it once, keep the recovery codes.
import { html, useEffect, useState } from "../vendor/preact.js";
import { post, put } from "../core/api.js";
import { save } from "../core/files.js";
import { hasPasskeys, makePasskey } from "../core/passkeys.js";
import { OWN } from "../core/people.js";
import { Button, CheckField, copy, Copyable, Icon, TextField } from "./controls.js";
import { Problem, reasonOf, useFirstField, useForm } from "./entrance.js";
import { Notice, Skeleton } from "./feedback.js";

export const PATH = "api/v1/second-factor";

/** `onChoose(kind)` is called with `totp` or `passkey`. */
export function FactorChoice({ onChoose }) {
  return html`
    <div class="stack small">
      <button type="button" class="factor" onClick=${() => onChoose("totp")}>
        <${Icon} name="smartphone" />
        <span>
          <span class="strong">Authenticator app</span>
          <span class="soft">An app on your phone shows six digits that you enter.</span>
        </span>
      </button>
      ${
        hasPasskeys() &&
        html`
          <button type="button" class="factor" onClick=${() => onChoose("passkey")}>
            <${Icon} name="key" />
            <span>
              <span class="strong">Passkey</span>
              <span class="soft">
                Your fingerprint, face, PIN or a security key. It also signs in without a password.
              </span>
            </span>
          </button>
        `
      }
    </div>
  `;
}

/** Scan a code, then enter what the app shows. `onDone(codes)` gets the recovery codes. */
export function AuthenticatorSetUp({ onDone }) {
  useFirstField();
  const [offer, setOffer] = useState(null);
  const [code, setCode] = useState("");
  const start = useForm(async () => {
    const { results } = await post(PATH, { type: "totp" }, OWN);
    setOffer(results);
  });
  useEffect(() => {
    start.submit();
  }, []);
  const form = useForm(async () => {
    if (!code.trim()) throw new Error("Enter the code that the app shows.");
    const { results } = await put(PATH, { code: code.trim() }, OWN);
    onDone(results.recovery_codes);
  });
  return html`
    <div class="stack">
      <p class="soft">
        Scan the picture with an authenticator app, such as Aegis, 2FAS, Google Authenticator or
        1Password. Then enter the six digits that it shows.
      </p>
      ${
        offer
          ? html`
            <div class="qr"><${QrCode} ...${offer.qr} /></div>
            <div class="field">
              <span class="label">Or enter this secret in the app</span>
              <${Copyable} text=${offer.secret} class="mono secret-text">
                ${grouped(offer.secret)}
              <//>
            </div>
          `
          : html`<div class="qr"><${Skeleton} width="200px" height=${200} /></div>`
      }
      <${Problem} text=${problemOf(start.error) || problemOf(form.error)} />
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${TextField}
          label="Code"
          name="code"
          value=${code}
          onInput=${(text) => {
            setCode(text);
            form.setError(null);
          }}
          inputmode="numeric"
          autocomplete="one-time-code"
          class="mono"
          spellcheck=${false}
          autofocus
        />
        <div>
          <${Button} type="submit" kind="primary" busy=${form.busy} disabled=${!offer}>
            Turn it on
          <//>
        </div>
      </form>
    </div>
  `;
}

const problemOf = (error) => error && reasonOf(error);
const grouped = (secret) => secret.replaceAll(/(.{4})(?=.)/g, "$1 ");

/** The dark modules of a code on white, whatever the theme is: readers want it so. */
function QrCode({ size, path }) {
  return html`
    <svg
      viewBox="0 0 ${size} ${size}"
      role="img"
      aria-label="QR code with the secret"
      shape-rendering="crispEdges"
    >
      <rect width=${size} height=${size} fill="#fff" />
      <path d=${path} fill="#000" />
    </svg>
  `;
}

/** Name a passkey and make it. `onDone(codes)` gets the recovery codes, none beside others. */
export function PasskeySetUp({ onDone }) {
  useFirstField();
  const [name, setName] = useState("");
  const form = useForm(async () => {
    const { results } = await post(PATH, { type: "passkey" }, OWN);
    const credential = await makePasskey(results.options);
    const body = { credential, state: results.state, name: name.trim() || "Passkey" };
    const answer = await put(PATH, body, OWN);
    onDone(answer.results.recovery_codes);
  });
  return html`
    <form class="stack" onSubmit=${form.submit} novalidate>
      <p class="soft">The browser asks where to keep the passkey, and for your consent.</p>
      <${Problem} text=${problemOf(form.error)} />
      <${TextField}
        label="Name"
        optional
        hint="By it you tell your passkeys apart, such as Laptop."
        maxlength="100"
        value=${name}
        onInput=${(text) => {
          setName(text);
          form.setError(null);
        }}
        autocomplete="off"
        autofocus
      />
      <div>
        <${Button} type="submit" kind="primary" icon="key" busy=${form.busy}>Make the passkey<//>
      </div>
    </form>
  `;
}

/** The recovery codes, which are shown this once. `onDone()` is called when they are kept. */
export function RecoveryCodes({ codes, onDone }) {
  const [isKept, setKept] = useState(false);
  const text = codes.join("\n");
  return html`
    <div class="stack">
      <${Notice} tone="warn" icon="alert-triangle">
        Keep these codes where you keep passwords. Each signs you in once if you lose the second
        factor. They are not shown again.
      <//>
      <ul class="recovery-codes" aria-label="Recovery codes">
        ${codes.map((each) => html`<li key=${each}><code>${each}</code></li>`)}
      </ul>
      <div class="row wraps">
        <${Button} icon="copy" onClick=${() => copy(text, "Codes copied")}>Copy<//>
        <${Button}
          icon="download"
          onClick=${() => save("postfinch-recovery-codes.txt", `${text}\n`, "text/plain")}
        >
          Download
        <//>
      </div>
      <${CheckField} label="I have kept them" checked=${isKept} onChange=${setKept} />
      <div>
        <${Button} kind="primary" disabled=${!isKept} onClick=${onDone}>Done<//>
      </div>
    </div>
  `;
}
