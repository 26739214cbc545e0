// The page of a link that sets a new password.
import { html, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { dismiss } from "../core/people.js";
import { visit } from "../core/session.js";
import { Button } from "./controls.js";
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
import { Notice } from "./feedback.js";

export default function NewPassword() {
  const [token] = useState(visit.value?.value ?? "");
  const [password, setPassword] = useState("");
  const [short, setShort] = useState("");
  const [isDone, setDone] = useState(false);
  const form = useForm(async () => {
    const problem = password.length < SHORTEST ? `It needs ${SHORTEST} characters or more.` : "";
    setShort(problem);
    if (problem) return;
    await post(`api/v1/password-reset/${encodeURIComponent(token)}`, { password });
    setDone(true);
  });
  const isGone = [400, 404, 410].includes(form.error?.status) && !objection(form.error);
  if (isDone || isGone) return html`<${End} isGone=${isGone} />`;
  return html`
    <${Entrance}
      title="Choose a new password"
      about="All sessions end with it. Then sign in with the new one."
    >
      <${Problem} text=${form.error && !objection(form.error) ? reasonOf(form.error) : ""} />
      <form class="stack" onSubmit=${form.submit} novalidate>
        <${PasswordField}
          label="New password"
          name="new-password"
          hint=${PASSWORD_HINT}
          problem=${short || objection(form.error)}
          value=${password}
          onInput=${(text) => {
            setPassword(text);
            setShort("");
            form.setError(null);
          }}
          autocomplete="new-password"
          autofocus
        />
        <${Button} type="submit" kind="primary" busy=${form.busy}>Save the password<//>
      </form>
    <//>
  `;
}

const objection = (error) => objectionTo(error, "password");

function End({ isGone }) {
  return html`
    <${Entrance} title=${isGone ? "This link does not work any more" : "The password is changed"}>
      <${Notice} tone=${isGone ? "warn" : "good"} icon=${isGone ? "clock" : "circle-check"}>
        ${
          isGone
            ? "Such a link works once and for a short time. The sign-in page sends another one."
            : "Sign in with the new password. All other sessions have ended."
        }
      <//>
      <${Button} kind="primary" onClick=${dismiss}>Sign in<//>
    <//>
  `;
}
