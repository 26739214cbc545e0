// A red bar that says that mail leaves this machine, on every page of a local service.
import { html } from "../vendor/preact.js";
import { outgoing } from "../core/service.js";
import { Icon } from "./controls.js";

export function OutgoingBar() {
  if (!outgoing.value) return null;
  return html`
    <div class="outgoing" role="status">
      <${Icon} name="alert-triangle" /><span class="wrap">${outgoing.value}</span>
    </div>
  `;
}
