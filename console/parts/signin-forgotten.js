// Ask for a mail with a link to a new password. The answer is the same for every address, so that
// nobody learns who has an account.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { Button, TextField } from "./controls.js";
import { Entrance, Problem, reasonOf, useForm } from "./entrance.js";
import { Notice } from "./feedback.js";

const ABOUT = "You get a mail with a link. It sets a new password and ends all sessions.";

export function ForgottenPassword({ email, back }) {
  const [entry, setEntry] = useState(email);
  const [missing, setMissing] = useState("");
  const [isDone, setDone] = useState(false);
  const form = useForm(async () => {
    setMissing(entry.trim() ? "" : "Enter your email address.");
    if (!entry.trim()) return;
    await post("api/v1/password-reset", { email: entry.trim() });
    setDone(true);
  });
  return html`
    <${Entrance}
      title="A new password"
      about=${isDone ? "" : ABOUT}
    >
      <${Problem} text=${missing || (form.error && reasonOf(form.error))} />
      <div role="status">
        ${
          isDone &&
          html`
            <${Notice} icon="mail">
              If this address belongs to somebody here, a mail with a link is on its way to it.
            <//>
          `
        }
      </div>
      ${
        !isDone &&
        html`
          <form class="stack" onSubmit=${form.submit} novalidate>
            <${TextField}
              label="Email address"
              type="email"
              name="email"
              value=${entry}
              onInput=${(text) => {
                setEntry(text);
                setMissing("");
                form.setError(null);
              }}
              autocomplete="username"
              spellcheck=${false}
              autocapitalize="none"
              autofocus
            />
            <${Button} type="submit" kind="primary" busy=${form.busy}>Send the link<//>
          </form>
        `
      }
      <div class="links">
        <button type="button" class="text-link" onClick=${back}>Back to sign in</button>
      </div>
    <//>
  `;
}
