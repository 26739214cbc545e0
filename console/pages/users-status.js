// The status of a user as a badge.
import { html } from "../vendor/preact.js";
import { statusOf } from "../core/users.js";
import { Badge } from "../parts/controls.js";

export function Status({ user }) {
  const [text, tone, icon] = statusOf(user);
  return html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`;
}
