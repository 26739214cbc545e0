// Links from one page to another. A key that may not see the other page gets no link to it.
import { html } from "../vendor/preact.js";
import { href } from "../core/router.js";
import { mayOpen, PAGES } from "../pages/registry.js";

/** The `href` of a view on another page, or undefined. */
export function pageHref(path, query) {
  const page = PAGES.find((each) => each.id === path[0]);
  return mayOpen(page) ? href(path, query) : undefined;
}

/** A link to a view on another page, or its text alone. */
export function PageLink({ path, query, children }) {
  const target = pageHref(path, query);
  return target ? html`<a href=${target}>${children}</a>` : children;
}
