// The API keys that end within a week.
import { html } from "../vendor/preact.js";
import { href } from "../core/router.js";
import { Badge, Button, Time } from "../parts/controls.js";
import { Card } from "../parts/page.js";

const MOST = 5;

export default function EndingKeysCard({ keys }) {
  const all = href(["settings", "keys"], { show: "ending" });
  return html`
    <${Card}
      title="API keys that end soon"
      flush
      actions=${html`<${Button} kind="ghost small" href=${all}>Show all<//>`}
    >
      <ul class="items">
        ${keys.slice(0, MOST).map(
          (each) => html`
            <li key=${each.id}>
              <div class="grow">
                <div class="clip strong">${each.label}</div>
                <div>Give it another end, or programs that use it another key.</div>
              </div>
              <${Badge} tone="warn" icon="alert-triangle">
                Ends <${Time} at=${each.expires_at} />
              <//>
            </li>
          `,
        )}
      </ul>
    <//>
  `;
}
