// The client of the API. Every address is relative to the console's own, because a deployed stage
// is part of the path.
import { asSaid, codeHint, inWords } from "./messages.js";
import { csrfToken, enrolling, expire, identity, key, person, subaccount } from "./session.js";

export const base = new URL("../", location.href.split(/[?#]/)[0]).href;

const HINTS = {
  0: "Check that the service is running and that this machine is online.",
  401: "Sign in again.",
  404: "It does not exist, or belongs to another account or subaccount.",
  413: "Send fewer recipients or smaller files at once.",
  429: "Too many requests at once. Try again in a moment.",
  500: "The service failed. Its log has the details under the request's id.",
  503: "The service is busy. Try again in a moment.",
};

const lacksGrant = () =>
  person.value
    ? "Your role lacks the grant for it. An administrator can give you another one."
    : "This key lacks the grant for it. A key with the grant can be made under Settings.";

/**
 * What the API answered to a request that failed. `errors` are those of its `body`; `texts` has
 * each in words for people, the first of which is the message. `retryAfter` is in seconds; 0 if the
 * answer does not say when to try again.
 */
export class ApiError extends Error {
  constructor(status, errors, { requestId = null, body = null, retryAfter = 0 } = {}) {
    const texts = errors.map(inWords).filter(Boolean);
    super(texts[0] ?? `Status ${status}`);
    this.status = status;
    this.errors = errors;
    this.texts = texts;
    this.requestId = requestId;
    this.body = body;
    this.retryAfter = retryAfter;
  }

  /** The code of the first error, such as `2fa_required`; empty if it has none. */
  get code() {
    return String(this.errors[0]?.code ?? "");
  }

  /** What to do about it, if that is known. */
  get hint() {
    const [first = {}] = this.errors;
    // Other refusals of this kind say themselves what it is about
    if (this.status === 403 && first.description) return "";
    if (this.status === 403) return lacksGrant();
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
 * The headers of a request. Paths below `local/` carry no key, and a person's requests carry none:
 * the cookie stands for it, and a change also has the token against forged requests.
 * @returns {Record<string, string>}
 */
function headersOf(method, path, headers, hasBody) {
  const all = { ...headers };
  if (!isLocal(path)) {
    if (key.value) all.Authorization ??= key.value;
    else if (method !== "GET" && csrfToken.value) all["X-CSRF-Token"] = csrfToken.value;
    if (subaccount.value !== "" && !("X-SVC-SUBACCOUNT" in all))
      all["X-SVC-SUBACCOUNT"] = subaccount.value;
  }
  if (hasBody) all["Content-Type"] ??= "application/json";
  for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
  return all;
}

/** A request with a key does not take the cookie of who may be signed in as well. */
const credentialsOf = (headers) => (headers.Authorization ? "omit" : "same-origin");

/**
 * Make a request, and return the answer as it comes: status, headers, text and the time it took.
 * @param {string} method
 * @param {string} path
 * @param {{query?: Api.Query, body?: string, headers?: Api.Options["headers"]}} options
 */
export async function exchange(method, path, { query, body, headers }) {
  const began = performance.now();
  const all = headersOf(method, path, headers, body !== undefined);
  const response = await fetch(address(path, query), {
    method,
    headers: all,
    body,
    credentials: credentialsOf(all),
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
export async function request(method, path, options = {}) {
  const { query, body, headers, signal, as } = options;
  const all = headersOf(method, path, headers, body !== undefined);
  const who = identity();
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers: all,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: options.credentials ?? credentialsOf(all),
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
  const failure = new ApiError(response.status, parsed?.errors ?? [], {
    requestId: response.headers.get("X-Request-ID"),
    body: parsed,
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
  });
  if (who && who === identity()) follow(failure, all.Authorization);
  throw failure;
}

/** Leave the page where an answer says that the session has ended, or may not go on like this. */
function follow({ status, code }, authorization) {
  if (status === 401 && key.value && authorization === key.value)
    expire("The API key is not valid any more. Sign in again.");
  if (!person.value || authorization) return;
  if (status === 401) expire("Your session has ended. Sign in again.");
  // The second is of a change of factors in a session that has shown none of them
  if (code === "2fa_setup_required" || code === "2fa_required") enrolling.value = true;
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
