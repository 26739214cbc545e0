// The address of a view is the part after `#`, such as `#/mailbox/ID?tab=headers`, so that any view
// can be linked to below any path that the service is deployed at.
import { signal } from "../vendor/preact.js";

/** `path`: the decoded segments; `query`: the parameters as an object of texts. */
export const route = signal(read());

window.addEventListener("hashchange", () => {
  route.value = read();
});

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** The `href` of a view. */
export function href(path, query) {
  const segments = (Array.isArray(path) ? path : [path]).map(encodeURIComponent).join("/");
  const filled = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== "" && value !== false,
  );
  const text = new URLSearchParams(
    filled.map(([name, value]) => [name, value === true ? "1" : String(value)]),
  ).toString();
  return `#/${segments}${text ? `?${text}` : ""}`;
}

/** Go to a view; `replace` leaves no step to go back to. */
export function go(path, query, { replace = false } = {}) {
  const target = href(path, query);
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, "", target);
    route.value = read();
  } else {
    location.hash = target;
  }
}

/** Change some parameters of the present view, without a step to go back to. */
export function setQuery(changes) {
  go(route.value.path, { ...route.value.query, ...changes }, { replace: true });
}

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
