// What a key sees in place of what it may not see: which grant it lacks.
import { html } from "../vendor/preact.js";
import { Empty } from "./feedback.js";

/**
 * `what` in the plural, as in "This key may not see templates"; of several grants one would be
 * enough.
 */
export function Ungranted({ what, grant, level }) {
  const names = [grant]
    .flat()
    .map((each, index) => html`${index > 0 && " or "}<code key=${each}>${each}</code>`);
  return html`
    <${Empty} icon="key" level=${level} title="This key may not see ${what}">
      It lacks the grant ${names}. Someone who manages API keys can make a key that has it.
    <//>
  `;
}
