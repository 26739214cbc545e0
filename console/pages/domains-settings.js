// What a domain is for, and who may use it; and the mailboxes by which it can be verified.
import { html, useState } from "../vendor/preact.js";
import { post, put } from "../core/api.js";
import { Badge, Button, CheckField, TextField } from "../parts/controls.js";
import { Dialog } from "../parts/dialog.js";
import { attempt, Notice } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { TrackingDomain } from "./domains-form.js";
import { STATES } from "./domains-records.js";

/** Change one field at once. Refused or not, the controls show what the API has afterwards. */
const changer = (path, reload) => (fields) =>
  attempt(() => put(path, fields).finally(reload), "Saved");

export function SendingSettings({ path, domain, reload, manages }) {
  const change = changer(path, reload);
  return html`
    <${Card} title="Use">
      <div class="stack">
        <${TrackingDomain}
          value=${domain.tracking_domain ?? ""}
          disabled=${!manages}
          onChange=${(name) => change({ tracking_domain: name })}
        />
        <${CheckField}
          toggle
          label="Default bounce domain"
          hint=${
            "Bounces of mail from other domains come back to it. " +
            "Its Bounces record must be published."
          }
          checked=${domain.is_default_bounce_domain}
          disabled=${!manages}
          onChange=${(value) => change({ is_default_bounce_domain: value })}
        />
        ${
          "shared_with_subaccounts" in domain &&
          html`
            <${CheckField}
              toggle
              label="Subaccounts may send from it"
              checked=${domain.shared_with_subaccounts}
              disabled=${!manages}
              onChange=${(value) => change({ shared_with_subaccounts: value })}
            />
          `
        }
      </div>
    <//>
  `;
}

export function TrackingSettings({ path, domain, reload, manages }) {
  const change = changer(path, reload);
  const disabled = !manages || !domain.status.verified;
  return html`
    <${Card} title="Use">
      <div class="stack">
        ${
          !domain.status.verified &&
          html`<${Notice}>These can be changed once the domain is verified.<//>`
        }
        <${CheckField}
          toggle
          label="Links begin with https"
          hint="A server with a certificate for this domain must stand before the service."
          checked=${domain.secure}
          disabled=${disabled}
          onChange=${(value) => change({ secure: value })}
        />
        <${CheckField}
          toggle
          label="Default tracking domain"
          hint="For mail whose sending domain names no other."
          checked=${domain.default}
          disabled=${disabled}
          onChange=${(value) => change({ default: value })}
        />
      </div>
    <//>
  `;
}

const MAILBOXES = [
  ["postmaster_at", "postmaster"],
  ["abuse_at", "abuse"],
  ["verification_mailbox", ""],
];

/**
 * Verify by mail instead of by DNS: a token goes to a mailbox that only the domain's owner reads.
 */
export function Mailboxes({ name, path, status, reload }) {
  const [kind, setKind] = useState(null);
  return html`
    <${Card} title="By mail instead" flush>
      <p class="pane-note soft">
        Who has no access to the DNS shows by a mail to one of these addresses that the domain is
        theirs. Mail is then signed only once the signature's record is published.
      </p>
      <ul class="items" aria-label="Mailboxes">
        ${MAILBOXES.map(([each, local]) => {
          const [text, tone, icon] = STATES[status[`${each}_status`]] ?? STATES.unverified;
          const address =
            local || status.verification_mailbox
              ? `${local || status.verification_mailbox}@${name}`
              : "another address";
          return html`
            <li key=${each} class="wraps">
              <span class="grow mono clip">${address}</span>
              <${Badge} tone=${tone} icon=${icon}>
                ${each && text === "Published" ? "Verified" : text}
              <//>
              <${Button} kind="small" icon="mail" onClick=${() => setKind(each)}>
                Verify<span class="visually-hidden"> ${address}</span>
              <//>
            </li>
          `;
        })}
      </ul>
      ${
        kind &&
        html`
          <${ByMail}
            key=${kind}
            kind=${kind}
            name=${name}
            path=${path}
            onClose=${() => setKind(null)}
            onDone=${reload}
          />
        `
      }
    <//>
  `;
}

function ByMail({ kind, name, path, onClose, onDone }) {
  const local = Object.fromEntries(MAILBOXES)[kind];
  const [mailbox, setMailbox] = useState("");
  const [token, setToken] = useState("");
  const [isMailed, setMailed] = useState(false);
  const send = sendAction({ local, mailbox, isMailed, path, kind, setMailed, token, onDone });
  return html`
    <${Dialog}
      title="Verify by mail"
      submit=${isMailed ? "Verify" : "Send the mail"}
      disabled=${isMailed ? !token.trim() : !local && !mailbox.trim()}
      onClose=${onClose}
      onSubmit=${send}
    >
      ${
        !local &&
        html`
          <${TextField}
            label="Before the @"
            spellcheck="false"
            autocapitalize="none"
            value=${mailbox}
            onInput=${setMailbox}
            hint="The mail goes to this mailbox at ${name}."
          />
        `
      }
      ${
        isMailed
          ? html`
            <${Notice} tone="good" icon="mail">
              The mail is on its way. Press the button on the page that its link opens, or enter the
              token from the link here.
            <//>
            <${TextField}
              label="Token"
              spellcheck="false"
              autocomplete="off"
              value=${token}
              onInput=${setToken}
            />
          `
          : local &&
            html`
              <p class="soft">
                A link goes to <code>${local}@${name}</code>. Who reads that mailbox verifies the
                domain with it.
              </p>
            `
      }
    <//>
  `;
}

function sendAction({ local, mailbox, isMailed, path, kind, setMailed, token, onDone }) {
  return async () => {
    const nominated = local ? {} : { verification_mailbox: mailbox.trim() };
    if (isMailed) {
      await post(`${path}/verify`, {
        [`${kind}_verify`]: true,
        [`${kind}_token`]: token.trim(),
        ...nominated,
      });
      await onDone();
      return true;
    }
    await post(`${path}/verify`, { [`${kind}_verify`]: true, ...nominated });
    setMailed(true);
    return false;
  };
}
