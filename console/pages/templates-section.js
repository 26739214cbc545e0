// The head of the Templates page: its title and its tabs, each at an address of its own.
import { html } from "../vendor/preact.js";
import { AB_GRANT } from "../core/ab-tests.js";
import { go } from "../core/router.js";
import { may } from "../core/service.js";
import { PageHead } from "../parts/page.js";
import { Tabs, TabPanel } from "../parts/tabs.js";

const TABS = [
  ["list", "Templates"],
  ["snippets", "Snippets"],
  ["ab-tests", "A/B tests", AB_GRANT],
];

/** `current`: a tab of the page; `actions`: buttons beside the title. */
export function Section({ current, about, actions, children }) {
  const tabs = TABS.filter(([, , grant]) => may(grant)).map(([id, text]) => [id, text]);
  return html`
    <div class="page">
      <${PageHead} title="Templates" about=${about}>${actions}<//>
      <${Tabs}
        label="Templates"
        tabs=${tabs}
        current=${current}
        onChange=${(id) => go(id === "list" ? ["templates"] : ["templates", id])}
      />
      <${TabPanel} current=${current} class="stack">${children}<//>
    </div>
  `;
}
