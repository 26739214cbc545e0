// Whether API keys end within a week, for the overview of those who may list keys.
import { html } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { useResource } from "../core/resource.js";
import { may } from "../core/service.js";
import { Lazy } from "../parts/lazy.js";

const WEEK = 7 * 86400000;

/** Nothing where no key ends so soon, and while that is not known. */
export function EndingKeys() {
  const resource = useResource((signal) =>
    may("api_keys/manage")
      ? get("api/v1/api-keys", { expires_before: inAWeek() }, { signal })
      : { results: [] },
  );
  const keys = resource.data?.results.filter(isAhead) ?? [];
  return (
    keys.length > 0 &&
    html`
      <${Lazy}
        load=${() => import("./overview-ending-card.js")}
        around=${() => null}
        keys=${keys}
      />
    `
  );
}

const inAWeek = () => new Date(Date.now() + WEEK).toISOString();
const isAhead = (key) => Date.parse(key.expires_at) > Date.now();
