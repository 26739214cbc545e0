// Change one's own password, by the one that it replaces.
import { html, useState } from "../vendor/preact.js";
import { put } from "../core/api.js";
import { OWN, reloadPerson } from "../core/people.js";
import { person } from "../core/session.js";
import { Button } from "../parts/controls.js";
import {
  objectionTo,
  PASSWORD_HINT,
  PasswordField,
  Problem,
  reasonOf,
  SHORTEST,
  useForm,
} from "../parts/entrance.js";
import { toast } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

export function Password() {
  const [former, setFormer] = useState("");
  const [fresh, setFresh] = useState("");
  const [short, setShort] = useState("");
  const form = useForm(async () => {
    const problem = fresh.length < SHORTEST ? `It needs ${SHORTEST} characters or more.` : "";
    setShort(problem);
    if (problem) return;
    const old = person.value.has_password ? { old_password: former } : {};
    await put("api/v1/me", { password: fresh, ...old }, OWN);
    setFormer("");
    setFresh("");
    toast("The password is changed. All other sessions have ended.");
    await reloadPerson();
  });
  const change = (set) => (text) => {
    set(text);
    setShort("");
    form.setError(null);
  };
  const [ofFormer, ofFresh] = objectionsOf(form.error);
  return html`
    <${Card} title="Password">
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${OwnAddress} />
        <${Problem} text=${form.error && !ofFormer && !ofFresh ? reasonOf(form.error) : ""} />
        ${
          person.value.has_password &&
          html`
            <${PasswordField}
              label="Present password"
              name="password"
              value=${former}
              problem=${ofFormer}
              onInput=${change(setFormer)}
              autocomplete="current-password"
            />
          `
        }
        <${PasswordField}
          label="New password"
          name="new-password"
          hint=${PASSWORD_HINT}
          value=${fresh}
          problem=${short || ofFresh}
          onInput=${change(setFresh)}
          autocomplete="new-password"
        />
        <p class="soft">A new password ends all other sessions of yours.</p>
        <div>
          <${Button} type="submit" busy=${form.busy} disabled=${!fresh}>
            ${person.value.has_password ? "Change password" : "Set password"}
          <//>
        </div>
      </form>
    <//>
  `;
}

/** Password managers keep a new password for the address that stands before it. */
function OwnAddress() {
  return html`
    <input
      class="visually-hidden"
      type="email"
      autocomplete="username"
      value=${person.value.email}
      readonly
      tabindex="-1"
      aria-hidden="true"
    />
  `;
}

/** What the service says about the old password, and about the new one. */
function objectionsOf(error) {
  const ofFormer = error?.status === 403 ? error.message : objectionTo(error, "old_password");
  return [ofFormer, ofFormer ? "" : objectionTo(error, "password")];
}
