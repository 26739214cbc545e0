// What a key or person sees in place of what they may not see: which grant is lacking.
import { html } from "../vendor/preact.js";
import { who } from "../core/service.js";
import { person } from "../core/session.js";
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
    <${Empty} icon="key" level=${level} title="${who()} may not see ${what}">
      ${
        person.value
          ? html`Your role lacks the grant ${names}. An administrator can give you another role.`
          : html`
            It lacks the grant ${names}. Someone who manages API keys can make a key that has it.
          `
      }
    <//>
  `;
}
