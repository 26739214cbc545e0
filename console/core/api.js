// The client of the API. Every address is relative to the console's own, because a deployed stage
// is part of the path.
import { asSaid, codeHint, inWords } from "./messages.js";
import { key, subaccount, signOut } from "./session.js";

export const base = new URL("../", location.href.split(/[?#]/)[0]).href;

const HINTS = {
  0: "Check that the service is running and that this machine is online.",
  401: "The key is not valid any more. Sign in with another one.",
  403: "This key lacks the grant for it. A key with the grant can be made under Settings.",
  404: "It does not exist, or belongs to another account or subaccount.",
  413: "Send fewer recipients or smaller files at once.",
  429: "Too many requests at once. Try again in a moment.",
  500: "The service failed. Its log has the details under the request's id.",
  503: "The service is busy. Try again in a moment.",
};

/**
 * What the API answered to a request that failed. `errors` are those of its body; `texts` has each
 * in words for people, the first of which is the message.
 */
export class ApiError extends Error {
  constructor(status, errors, requestId) {
    const texts = errors.map(inWords).filter(Boolean);
    super(texts[0] ?? `Status ${status}`);
    this.status = status;
    this.errors = errors;
    this.texts = texts;
    this.requestId = requestId;
  }

  /** What to do about it, if that is known. */
  get hint() {
    const [first = {}] = this.errors;
    // Other refusals of this kind say themselves what it is about
    if (this.status === 403 && first.description) return "";
    return codeHint(first) || (HINTS[this.status] ?? (this.status >= 500 ? HINTS[500] : ""));
  }

  /** What the API said, word for word. */
  get said() {
    return this.status ? [`Status ${this.status}`, ...this.errors.map(asSaid)].join("\n") : "";
  }
}

/**
 * The absolute address of an API path, with a query from which empty values are left out.
 * @param {string} path
 * @param {Api.Query} [query]
 */
export function address(path, query) {
  const url = new URL(path.replace(/^\//, ""), base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (
      Array.isArray(value) ? value.length : value !== undefined && value !== null && value !== ""
    ) {
      url.searchParams.set(name, String(value));
    }
  }
  return url.href;
}

/**
 * The headers of a request. Paths below `local/` carry no key.
 * @returns {Record<string, string>}
 */
function headersOf(path, headers, hasBody) {
  const all = { ...headers };
  if (!isLocal(path)) {
    all.Authorization ??= key.value;
    if (subaccount.value !== "" && !("X-SVC-SUBACCOUNT" in all))
      all["X-SVC-SUBACCOUNT"] = subaccount.value;
  }
  if (hasBody) all["Content-Type"] ??= "application/json";
  for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
  return all;
}

/**
 * Make a request, and return the answer as it comes: status, headers, text and the time it took.
 * @param {string} method
 * @param {string} path
 * @param {{query?: Api.Query, body?: string, headers?: Api.Options["headers"]}} options
 */
export async function exchange(method, path, { query, body, headers }) {
  const began = performance.now();
  const response = await fetch(address(path, query), {
    method,
    headers: headersOf(path, headers, body !== undefined),
    body,
    credentials: "omit",
    cache: "no-store",
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: [...response.headers],
    text,
    milliseconds: performance.now() - began,
  };
}

/**
 * Make a request. Returns the parsed body; raises ApiError.
 * @param {string} method
 * @param {string} path
 * @param {Api.Options} [options]
 * @returns {Promise<any>}
 */
export async function request(method, path, { query, body, headers, signal, as } = {}) {
  const all = headersOf(path, headers, body !== undefined);
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers: all,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, [{ message: "The service cannot be reached" }]);
  }
  if (response.ok && as) return response[as]();
  const text = await response.text();
  const parsed = parse(text);
  if (response.ok) return parsed ?? {};
  if (response.status === 401 && all.Authorization === key.value) signOut();
  throw new ApiError(response.status, parsed?.errors ?? [], response.headers.get("X-Request-ID"));
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Api.Query} [query]
 * @param {Api.Options} [options]
 * @returns {Promise<Api.Answer<Path>>}
 */
export const get = (path, query, options) => request("GET", path, { query, ...options });
export const post = (path, body, options) => request("POST", path, { body, ...options });
export const put = (path, body, options) => request("PUT", path, { body, ...options });
export const remove = (path, query, options) => request("DELETE", path, { query, ...options });

/** Whether the path is one of the local runtime, which knows no key. */
export function isLocal(path) {
  return /^\/?local(\/|$)/.test(path);
}

function parse(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
