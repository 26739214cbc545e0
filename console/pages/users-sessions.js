// The sessions of a user: where they are signed in, ending one or all.
import { html } from "../vendor/preact.js";
import { get, remove } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { MANAGE, nameOf, OF_ACCOUNT, userPath } from "../core/users.js";
import { Button } from "../parts/controls.js";
import { confirm } from "../parts/dialog.js";
import { attempt, Loaded } from "../parts/feedback.js";
import { Card } from "../parts/page.js";
import { SessionRow } from "./profile-sessions.js";

export function UserSessions({ user }) {
  const path = `${userPath(user.id)}/sessions`;
  const resource = useResource(
    async (signal) => (await get(path, undefined, { signal, ...OF_ACCOUNT })).results,
    [user], // it comes anew with each change, and many changes end sessions
  );
  const end = (id) =>
    attempt(
      () =>
        remove(`${path}/${encodeURIComponent(id)}`, undefined, OF_ACCOUNT).then(resource.reload),
      "Ended",
    );
  const endAll = async () => {
    const question = {
      title: `End all sessions of ${nameOf(user)}?`,
      text: "The user is signed out everywhere and can sign in again.",
      action: "End sessions",
    };
    if (await confirm(question))
      await attempt(() => remove(path, undefined, OF_ACCOUNT).then(resource.reload), "Ended");
  };
  const actions =
    resource.data?.length > 0 &&
    may(MANAGE) &&
    html`<${Button} kind="small danger" icon="log-out" onClick=${endAll}>End all sessions<//>`;
  return html`
    <${Card} title="Sessions" level=${3} flush actions=${actions}>
      <${Loaded} resource=${resource}>
        ${(sessions) =>
          sessions.length
            ? html`
              <ul class="items" aria-label="Sessions">
                ${sessions.map(
                  (each) => html`
                    <${SessionRow}
                      key=${each.id}
                      row=${each}
                      onEnd=${may(MANAGE) && (() => end(each.id))}
                    />
                  `,
                )}
              </ul>
            `
            : html`<p class="soft pane-note">Not signed in anywhere.</p>`}
      <//>
    <//>
  `;
}
