// Who changed a resource last, with a link to its lines in the audit log.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { actorInSentence, AUDIT_GRANT, AUDIT_LOG, searchOf } from "../core/audit.js";
import { useResource } from "../core/resource.js";
import { href } from "../core/router.js";
import { may } from "../core/service.js";
import { Time } from "./controls.js";

/**
 * `resource` and `id` as the audit log has them. It asks once for each `of`, which is what is on
 * view, and says nothing where nothing is known or the viewer may not know it.
 */
export function LastChanged({ resource, id, of = null }) {
  return may(AUDIT_GRANT) && html`<${Last} resource=${resource} id=${String(id)} of=${of} />`;
}

function Last({ resource, id, of }) {
  const { data: line } = useResource(
    async (signal) => {
      const query = { ...searchOf({ resource, resource_id: id, outcome: "done" }), per_page: 1 };
      const { results } = await get(AUDIT_LOG, query, { signal });
      return results[0] ?? null;
    },
    [resource, id, of],
  );
  if (!line) return null;
  return html`
    <p class="last-changed">
      Last changed by ${actorInSentence(line.actor)}, <${Time} at=${line.ts} />${" · "}
      <a href=${href(["audit-log"], { resource, resource_id: id })}>All changes</a>
    </p>
  `;
}
