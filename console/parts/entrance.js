// What the pages have in common that people see before they are signed in: one card, fields for
// passwords, and one place for what went wrong.
import { html, useEffect, useState } from "../vendor/preact.js";
import { clockTime } from "../core/format.js";
import { Field, IconButton } from "./controls.js";
import { Notice } from "./feedback.js";

/** The card of such a page; `about` says what it is for. `wide` is for steps with pictures. */
export function Entrance({ title, about, wide, children }) {
  useFirstField();
  return html`
    <main class="signin" id="main" tabindex="-1">
      <div class="card ${wide ? "wide" : ""}">
        <span class="brand"><img src="icon.svg" alt="" /> Postfinch</span>
        <div>
          <h1>${title}</h1>
          ${about && html`<p class="soft wrap">${about}</p>`}
        </div>
        ${children}
      </div>
    </main>
  `;
}

/** Go to the field to begin with. Browsers do that by themselves on the first page only. */
export function useFirstField() {
  useEffect(() => {
    const fields = document.querySelectorAll("dialog[open] [autofocus], .signin [autofocus]");
    /** @type {HTMLElement | undefined} */ (fields[0])?.focus();
  }, []);
}

/** A field for a password, which a button shows as text. */
export function PasswordField({ label, hint, problem, value, onInput, ...rest }) {
  const [isShown, setShown] = useState(false);
  return html`
    <${Field} label=${label} hint=${hint} problem=${problem}>
      ${(props) => html`
        <div class="secret">
          <input
            class="input"
            ...${props}
            ...${rest}
            type=${isShown ? "text" : "password"}
            value=${value}
            spellcheck=${false}
            autocapitalize="none"
            onInput=${(event) => onInput(event.target.value)}
          />
          <${IconButton}
            icon=${isShown ? "eye-off" : "eye"}
            kind="ghost small"
            label=${isShown ? "Hide the password" : "Show the password"}
            onClick=${() => setShown(!isShown)}
          />
        </div>
      `}
    <//>
  `;
}

/** What a new password needs, as the service checks it. */
export const SHORTEST = 12;
export const PASSWORD_HINT = `${SHORTEST} characters or more. Several words are easy to remember.`;

/** Why a form could not be sent; empty while there is no reason. */
export function Problem({ text }) {
  return html`
    <div role="alert" class=${text ? "" : "visually-hidden"}>
      ${text && html`<${Notice} tone="bad" icon="circle-alert">${text}<//>`}
    </div>
  `;
}

/** What an error says, and when to try again if it tells. */
export function reasonOf(error) {
  if (!error.retryAfter) return [error.message, error.hint].filter(Boolean).join(". ");
  const seconds = error.retryAfter;
  const wait = seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  const at = clockTime(Date.now() + seconds * 1000);
  return `There were too many attempts. Try again in ${wait}, at ${at}.`;
}

/** What the service says about one field; empty if it has no objection to it. */
export const objectionTo = (error, name) => {
  const index = error?.errors?.findIndex(
    ({ param = "", message = "", description = "" }) =>
      param === name || `${message} ${description}`.toLowerCase().includes(name),
  );
  return index >= 0 ? error.texts[index] : "";
};

/** Send a form: `busy` while it is on its way, `error` if that failed. */
export function useForm(send) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event?.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await send();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return { submit, busy, error, setError };
}
