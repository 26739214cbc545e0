// Sign in with an API key.
import { html, useState } from "../vendor/preact.js";
import { ApiError, get } from "../core/api.js";
import { local } from "../core/service.js";
import { key } from "../core/session.js";
import { Button, TextField } from "./controls.js";

export default function SignIn() {
  const [entry, setEntry] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = (text) => {
    setEntry(text);
    setProblem("");
  };
  const submit = async (event) => {
    event.preventDefault();
    if (!entry.trim()) return setProblem("Enter an API key");
    setBusy(true);
    setProblem("");
    const failure = await check(entry.trim());
    setBusy(false);
    if (failure) setProblem(failure);
    else key.value = entry.trim();
    return undefined;
  };
  return html`
    <main class="signin">
      <form class="card" onSubmit=${submit} novalidate>
        <span class="brand"><img src="icon.svg" alt="" /> Postfinch</span>
        <div>
          <h1>Sign in</h1>
          <p class="soft">
            With an API key of the account or of a subaccount. It stays in this tab and is forgotten
            when the tab is closed.
          </p>
        </div>
        <${TextField}
          label="API key"
          type="password"
          value=${entry}
          onInput=${enter}
          problem=${problem}
          class="mono"
          autocomplete="off"
          spellcheck="false"
          autofocus
          hint=${local.value ? html`<code>make run</code> prints a link that signs in.` : undefined}
        />
        <${Button} type="submit" kind="primary" busy=${busy}>Sign in<//>
      </form>
    </main>
  `;
}

async function check(text) {
  try {
    await get("api/v1/account", undefined, { headers: { Authorization: text } });
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 403) return "";
    return error.status === 401 ? "This is no valid API key" : error.message;
  }
}
