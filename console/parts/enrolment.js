// The page of somebody whose account asks for a second factor, until they have set one up.
import { html, useState } from "../vendor/preact.js";
import { enter, leave } from "../core/people.js";
import { Button } from "./controls.js";
import { Entrance } from "./entrance.js";
import { attempt } from "./feedback.js";
import { AuthenticatorSetUp, FactorChoice, PasskeySetUp, RecoveryCodes } from "./second-factor.js";

const TITLES = {
  "": "Set up a second factor",
  totp: "Authenticator app",
  passkey: "Passkey",
  codes: "Your recovery codes",
};
const ABOUT =
  "This account asks for a second factor of everybody. With it a stolen password is not enough.";

export default function Enrolment() {
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
        ${
          kind !== "codes" &&
          html`
            <${Button} kind="ghost small" icon="log-out" onClick=${() => attempt(leave)}>
              Sign out
            <//>
          `
        }
      </div>
    <//>
  `;
}
