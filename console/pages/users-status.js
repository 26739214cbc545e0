// The status of a user as a badge, and which user looks.
import { html } from "../vendor/preact.js";
import { person } from "../core/session.js";
import { statusOf } from "../core/users.js";
import { Badge } from "../parts/controls.js";

export function Status({ user }) {
  const [text, tone, icon] = statusOf(user);
  return html`<${Badge} tone=${tone} icon=${icon}>${text}<//>`;
}

/** A mark at the user who looks. */
export function You({ user }) {
  return user.id === person.value?.id && html`<${Badge} tone="info" icon="user">You<//>`;
}
