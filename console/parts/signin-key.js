// A key's view: the console with what one API key may do, in this tab.
import { html, useState } from "../vendor/preact.js";
import { ApiError, get } from "../core/api.js";
import { local } from "../core/service.js";
import { beginKey, notice } from "../core/session.js";
import { Button, TextField } from "./controls.js";
import { Entrance } from "./entrance.js";

export function KeyForm({ back }) {
  const [entry, setEntry] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = (text) => {
    setEntry(text);
    setProblem("");
    notice.value = "";
  };
  const submit = async (event) => {
    event.preventDefault();
    if (!entry.trim()) return setProblem("Enter an API key");
    setBusy(true);
    setProblem("");
    const failure = await check(entry.trim());
    setBusy(false);
    if (failure) setProblem(failure);
    else beginKey(entry.trim());
    return undefined;
  };
  return html`
    <${Entrance}
      title="Use an API key"
      about=${
        "The console shows what the key may do. The key stays in this tab and is forgotten when " +
        "the tab is closed."
      }
    >
      <form class="stack" onSubmit=${submit} novalidate>
        <${TextField}
          label="API key"
          type="password"
          value=${entry}
          onInput=${enter}
          problem=${problem}
          class="mono"
          autocomplete="off"
          spellcheck=${false}
          autofocus
          hint=${local.value ? html`<code>postfinch run</code> prints the key.` : undefined}
        />
        <${Button} type="submit" kind="primary" busy=${busy}>Show the console<//>
      </form>
      <div class="links">
        <button type="button" class="text-link" onClick=${back}>Sign in as a person</button>
      </div>
    <//>
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
