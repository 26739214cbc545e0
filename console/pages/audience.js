// Audience: the recipient lists, the addresses that get no mail, and whether mail would arrive.
import { html, useState } from "../vendor/preact.js";
import { go, route } from "../core/router.js";
import { may, who } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { Empty } from "../parts/feedback.js";
import { PageHead } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";
import { ListView } from "./audience-list.js";
import { Lists } from "./audience-lists.js";
import { RecipientView } from "./audience-recipient.js";
import { Suppressions } from "./audience-suppressions.js";
import { Validation } from "./audience-validation.js";

const TABS = [
  ["lists", "Recipient lists", Lists, ListView, "recipient_lists/manage"],
  ["suppressions", "Suppression list", Suppressions, RecipientView, "suppression_lists/manage"],
  ["validation", "Validation", Validation, null, "recipient-validation/manage"],
];

export default function Audience() {
  const { path } = route.value;
  const [version, setVersion] = useState(0);
  // Recipient lists belong to the account: subaccounts have none
  const tabs = TABS.filter(
    ([id, , , , grant]) => may(grant) && (id !== "lists" || ["", "0"].includes(subaccount.value)),
  );
  const [current, name, View, Detail] = tabs.find(([id]) => id === path[1]) ?? tabs[0] ?? [];
  if (!current) {
    return html`
      <div class="page">
        <${PageHead} title="Audience" />
        <${Empty} icon="key" title="${who()} may not see the audience">
          It takes the grant for recipient lists, suppression lists or recipient validation.
        <//>
      </div>
    `;
  }
  const selected = Detail && path[1] === current ? path[2] : undefined;
  const changed = () => setVersion((former) => former + 1);
  return html`
    <div class="page full">
      <h1 class="visually-hidden">Audience</h1>
      <div class="panes ${selected ? "open" : "alone"}">
        <section class="pane" aria-label=${name}>
          <header class="pane-head">
            <span class="pane-title" aria-hidden="true">Audience</span>
          </header>
          <div class="card-tabs">
            <${Tabs}
              label="Audience"
              tabs=${tabs.map(([id, text]) => [id, text])}
              current=${current}
              onChange=${(id) => go(["audience", id])}
            />
          </div>
          <${TabPanel} current=${current} class="pane-panel">
            <${View} key=${current} selected=${selected} version=${version} onChange=${changed} />
          <//>
        </section>
        ${
          selected &&
          html`
            <section class="pane" aria-label="Details">
              <${Detail} key=${selected} id=${selected} version=${version} onChange=${changed} />
            </section>
          `
        }
      </div>
    </div>
  `;
}
