// One's own second factors: the authenticator app, passkeys, recovery codes.
import { html, useState } from "../vendor/preact.js";
import { get, post, remove } from "../core/api.js";
import { plural } from "../core/format.js";
import { hasPasskeys } from "../core/passkeys.js";
import { OWN, reloadPerson } from "../core/people.js";
import { useResource } from "../core/resource.js";
import { person } from "../core/session.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { confirm, Dialog } from "../parts/dialog.js";
import { attempt, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { AuthenticatorSetUp, PasskeySetUp, PATH, RecoveryCodes } from "../parts/second-factor.js";

const FEW = 3;

export function Factors() {
  const resource = useResource((signal) => get(PATH, undefined, { ...OWN, signal }));
  const [dialog, setDialog] = useState("");
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const reload = async () => {
    await Promise.all([resource.reload(), reloadPerson()]);
  };
  const done = (fresh) => {
    setDialog("");
    setCodes(fresh);
    reload();
  };
  return html`
    <${Card} title="Second factor" flush actions=${html`<${State} data=${resource.data} />`}>
      <${Loaded} resource=${resource}>
        ${({ results }) => html`
          <ul class="items" aria-label="Second factors">
            <${Authenticator} on=${results.totp} setDialog=${setDialog} reload=${reload} />
            ${results.passkeys.map(
              (each) => html`<${Passkey} key=${each.id} row=${each} reload=${reload} />`,
            )}
            <${AddPasskey} none=${!results.passkeys.length} setDialog=${setDialog} />
            ${
              isOn(results) &&
              html`<${Recovery} number=${results.recovery_codes_left} onCodes=${done} />`
            }
          </ul>
          ${isOn(results) && html`<${TurnOff} reload=${reload} />`}
        `}
      <//>
      <${Dialogs} ...${{ dialog, setDialog, codes, setCodes, done }} />
    <//>
  `;
}

function Dialogs({ dialog, setDialog, codes, setCodes, done }) {
  const SetUp = dialog === "totp" ? AuthenticatorSetUp : PasskeySetUp;
  return html`
    ${
      dialog &&
      html`
        <${Dialog}
          title=${dialog === "totp" ? "Authenticator app" : "New passkey"}
          plain
          onClose=${() => setDialog("")}
        >
          <${SetUp} onDone=${done} />
        <//>
      `
    }
    ${
      codes.length > 0 &&
      html`
        <${Dialog} title="Your recovery codes" plain onClose=${() => setCodes([])}>
          <${RecoveryCodes} codes=${codes} onDone=${() => setCodes([])} />
        <//>
      `
    }
  `;
}

const isOn = ({ totp, passkeys }) => totp || passkeys.length > 0;

function State({ data }) {
  if (!data) return null;
  return isOn(data.results)
    ? html`<${Badge} tone="good" icon="shield-check">On<//>`
    : html`<${Badge} tone="warn" icon="shield-alert">Off<//>`;
}

/** Not offered where the account asks for a second factor of everybody. */
function TurnOff({ reload }) {
  if (person.value.account?.tfa_required) return null;
  const turnOff = async () => {
    if (
      await confirm({
        title: "Turn off the second factor?",
        text: "The authenticator, all passkeys and recovery codes go. The password alone signs in.",
        action: "Turn off",
      })
    )
      await attempt(() => remove(PATH, undefined, OWN).then(reload), "Turned off");
  };
  return html`
    <div class="pane-note">
      <${Button} kind="small danger" onClick=${turnOff}>Turn off the second factor<//>
    </div>
  `;
}

function Authenticator({ on, setDialog, reload }) {
  const destroy = async () => {
    if (
      await confirm({
        title: "Remove the authenticator app?",
        text: "Its codes count no more. Delete the entry in the app, too.",
        action: "Remove",
      })
    )
      await attempt(() => remove(`${PATH}/totp`, undefined, OWN).then(reload), "Removed");
  };
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="strong">Authenticator app</div>
        <div>${on ? "Asked for after the password" : "Six digits of an app on your phone"}</div>
      </div>
      <${Button} kind="small" icon="smartphone" onClick=${() => setDialog("totp")}>
        ${on ? "Use another app" : "Set up"}
        <span class="visually-hidden"> the authenticator app</span>
      <//>
      ${
        on &&
        html`
          <${Button} kind="small danger" icon="trash-2" onClick=${destroy}>
            Remove<span class="visually-hidden"> the authenticator app</span>
          <//>
        `
      }
    </li>
  `;
}

function Passkey({ row, reload }) {
  const destroy = async () => {
    if (
      await confirm({
        title: `Remove ${row.name}?`,
        text: "It signs in no more. Delete it on the device, too.",
        action: "Remove",
      })
    )
      await attempt(
        () => remove(`${PATH}/passkeys/${encodeURIComponent(row.id)}`, undefined, OWN).then(reload),
        "Removed",
      );
  };
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="strong wrap">${row.name}</div>
        <div>
          Passkey, made <${Time} at=${row.created} />,${" "}
          ${row.last_used ? html`last used <${Time} at=${row.last_used} />` : "not used yet"}
        </div>
      </div>
      <${Button} kind="small danger" icon="trash-2" onClick=${destroy}>
        Remove<span class="visually-hidden"> ${row.name}</span>
      <//>
    </li>
  `;
}

function AddPasskey({ none, setDialog }) {
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="strong">${none ? "Passkey" : "Another passkey"}</div>
        <div>
          ${
            hasPasskeys()
              ? "Signs in by fingerprint, face, PIN or security key, without a password"
              : "This browser, or this address of the console, has none"
          }
        </div>
      </div>
      <${Button}
        kind="small"
        icon="plus"
        disabled=${!hasPasskeys()}
        onClick=${() => setDialog("passkey")}
      >
        Add<span class="visually-hidden"> a passkey</span>
      <//>
    </li>
  `;
}

function Recovery({ number, onCodes }) {
  const renew = async () => {
    if (
      await confirm({
        title: "Make new recovery codes?",
        text: "The former ones work no more.",
        action: "Make new codes",
      })
    )
      await attempt(async () => {
        const { results } = await post(`${PATH}/recovery-codes`, {}, OWN);
        onCodes(results.recovery_codes);
      });
  };
  return html`
    <li class="wraps">
      <div class="grow">
        <div class="row">
          <span class="strong">Recovery codes</span>
          ${number <= FEW && html`<${Badge} tone="warn" icon="alert-triangle">Few<//>`}
        </div>
        <div>${plural(number, "code")} left, for when the second factor is lost</div>
      </div>
      <${Button} kind="small" icon="refresh-cw" onClick=${renew}>Make new codes<//>
    </li>
  `;
}
