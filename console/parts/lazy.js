// A part that is loaded when it is first shown, so that what is shown before does not wait for it.
import { html, useEffect, useState } from "../vendor/preact.js";
import { ErrorBox, SkeletonRows } from "./feedback.js";

const asIs = (content) => content;

/**
 * `load()` imports a module whose default export is the component; it gets the other properties.
 * `around(content)` returns what is shown while it loads, or where it cannot be loaded.
 */
export function Lazy({ load, around = asIs, ...properties }) {
  const [{ component, error }, setState] = useState(
    /** @type {{component?: any, error?: any}} */ ({}),
  );
  const run = () =>
    load().then(
      (module) => setState({ component: module.default }),
      (problem) => setState({ error: problem }),
    );
  useEffect(() => {
    run();
  }, []);
  if (error) return around(html`<${ErrorBox} error=${error} retry=${run} />`);
  return component ? html`<${component} ...${properties} />` : around(html`<${SkeletonRows} />`);
}
