// What stands in place of a page that the service does not have, or not for this key or person.
import { html } from "../vendor/preact.js";
import { route } from "../core/router.js";
import { PAGES } from "../pages/registry.js";
import { Ungranted } from "./ungranted.js";

export default function Missing() {
  const page = PAGES.find((each) => each.id === route.value.path[0] && !each.local);
  if (page?.person)
    return html`
      <div class="page">
        <h1>${page.label}</h1>
        <p class="soft">An API key has none. Sign in as a person to see yours.</p>
      </div>
    `;
  if (page)
    return html`
      <div class="page">
        <h1>${page.label}</h1>
        <${Ungranted} what="this page" grant=${page.grant} />
      </div>
    `;
  return html`
    <div class="page">
      <h1>This page is not here</h1>
      <p class="soft">
        The address names no page of this service that you may open. The navigation lists those that
        there are.
      </p>
    </div>
  `;
}
