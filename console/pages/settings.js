// Settings: the account and what it used, API keys, subaccounts, IP pools with their warm-up,
// seeding.
import { html } from "../vendor/preact.js";
import { go, route } from "../core/router.js";
import { may, ownSubaccount, who } from "../core/service.js";
import { person, subaccount } from "../core/session.js";
import { Empty, Notice } from "../parts/feedback.js";
import { PageHead } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";
import { Account } from "./settings-account.js";
import { Keys } from "./settings-keys.js";
import { Pools } from "./settings-pools.js";
import { Seeding } from "./settings-seeding.js";
import { Subaccounts } from "./settings-subaccounts.js";

const TABS = [
  ["account", "Account", Account, "account/view"],
  ["keys", "API keys", Keys, "api_keys/manage"],
  ["subaccounts", "Subaccounts", Subaccounts, "subaccount/view"],
  ["pools", "IP pools", Pools, "ip_pools/view"],
  ["seeding", "Inline seeding", Seeding, "inbox-placement/manage"],
];

export default function Settings() {
  const wanted = TABS.find(([id]) => id === route.value.path[1]);
  const tabs = TABS.filter(
    ([id, , , grant]) => may(grant) && !(subaccount.value !== "" && id === "subaccounts"),
  );
  const [current, , View] = tabs.find((each) => each === wanted) ?? tabs[0] ?? [];
  return html`
    <div class="page">
      <${PageHead} title="Settings" />
      ${
        wanted &&
        !may(wanted[3]) &&
        html`
          <${Notice} icon="key">
            ${who()} may not see ${wanted[1]}: ${person.value ? "your role" : "it"} lacks the grant
            ${" "}<code>${wanted[3]}</code>.
          <//>
        `
      }
      ${
        current
          ? html`
            <${Tabs}
              label="Settings"
              tabs=${tabs.map(([id, text]) => [id, text])}
              current=${current}
              onChange=${(id) => go(["settings", id])}
            />
            <${TabPanel} current=${current}><${View} /><//>
          `
          : html`
            <${Empty} icon="key" title="${who()} may not see any settings">
              ${
                ownSubaccount.value
                  ? `${person.value ? "You belong" : "It belongs"} to a subaccount. These are ` +
                    "settings of the whole account."
                  : "An administrator can give the grants for it."
              }
            <//>
          `
      }
    </div>
  `;
}
