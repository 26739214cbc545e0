// The choice of an inbox, where there is more than one.
import { html } from "../vendor/preact.js";
import { inboxKey, inboxLabel } from "../core/inboxes.js";
import { go, route } from "../core/router.js";
import { SelectField } from "../parts/controls.js";

export function InboxChoice({ inboxes, chosen }) {
  const isListed = inboxes.some((each) => inboxKey(each.name) === chosen);
  if (inboxes.length < 2 && (!chosen || isListed)) return null;
  const options = inboxes.map((each) => [inboxKey(each.name), inboxLabel(each)]);
  // One that has no message any more is not listed
  if (chosen && !isListed) options.push([chosen, inboxLabel(emptied(chosen))]);
  return html`
    <${SelectField}
      label="Inbox"
      hideLabel
      value=${chosen}
      options=${[["", "All inboxes"], ...options]}
      onChange=${(inbox) => go(["mailbox"], { ...route.value.query, inbox, tab: "" })}
    />
  `;
}

const emptied = (key) => ({ name: key === inboxKey("") ? "" : key, messages: 0, unread: 0 });
