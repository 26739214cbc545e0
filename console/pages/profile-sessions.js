// Where one is signed in, and ending sessions.
import { html } from "../vendor/preact.js";
import { get, remove } from "../core/api.js";
import { plural } from "../core/format.js";
import { deviceOf, isMobile } from "../core/devices.js";
import { OWN } from "../core/people.js";
import { useResource } from "../core/resource.js";
import { Badge, Button, Icon, Time } from "../parts/controls.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";

const PATH = "api/v1/sessions";
const end = ({ id }) => remove(`${PATH}/${encodeURIComponent(id)}`, undefined, OWN);

export function Sessions() {
  const resource = useResource((signal) => get(PATH, undefined, { ...OWN, signal }));
  const others = (resource.data?.results ?? []).filter(({ current }) => !current);
  const endAll = async () => {
    if (
      await confirm({
        title: "End all other sessions?",
        text: `${plural(others.length, "session")} must sign in again. This one stays.`,
        action: "End them",
      })
    )
      await attempt(async () => {
        for (const each of others) await end(each);
        await resource.reload();
      }, "Ended");
  };
  return html`
    <${Card}
      title="Sessions"
      flush
      actions=${
        others.length > 1 &&
        html`<${Button} kind="small danger" onClick=${endAll}>End all others<//>`
      }
    >
      <${Loaded} resource=${resource}>
        ${({ results }) => html`
          <ul class="items" aria-label="Sessions">
            ${results.map(
              (each) => html`
                <${SessionRow}
                  key=${each.id}
                  row=${each}
                  onEnd=${
                    !each.current && (() => attempt(() => end(each).then(resource.reload), "Ended"))
                  }
                />
              `,
            )}
          </ul>
        `}
      <//>
    <//>
  `;
}

// Others are the names of identity providers
const METHODS = { password: "by password", passkey: "by passkey", local: "by the local link" };

/** A session; `onEnd` ends it, if that is on offer. */
export function SessionRow({ row, onEnd }) {
  const device = deviceOf(row.user_agent ?? "");
  const how = [row.ip, METHODS[row.method] ?? `by ${row.method}`].filter(Boolean).join(", ");
  return html`
    <li class="wraps">
      <${Icon} name=${isMobile(row.user_agent ?? "") ? "smartphone" : "monitor"} />
      <div class="grow">
        <div class="row wraps">
          <span class="strong">${device}</span>
          ${row.current && html`<${Badge} tone="info" icon="check">This session<//>`}
        </div>
        <div class="wrap">
          ${how}, last used <${Time} at=${row.last_used} />, begun <${Time} at=${row.created} />
        </div>
      </div>
      ${
        onEnd &&
        html`
          <${Button} kind="small" onClick=${onEnd}>
            End<span class="visually-hidden"> the session of ${device}</span>
          <//>
        `
      }
    </li>
  `;
}
