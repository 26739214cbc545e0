// A red bar that says that mail leaves this machine.
import { html } from "../vendor/preact.js";
import { outgoing } from "../core/service.js";
import { Icon } from "./controls.js";

/** On every page of a local service that delivers its mail. */
export const OutgoingBar = () => html`<${AlarmBar} text=${outgoing.value} />`;

/** A bar with a text; none without one. */
export function AlarmBar({ text }) {
  if (!text) return null;
  return html`
    <div class="outgoing" role="status">
      <${Icon} name="alert-triangle" /><span class="wrap">${text}</span>
    </div>
  `;
}
