// The session of this tab: who is signed in, the subaccount that requests act for, and the theme.
//
// A person is signed in by a cookie, which no script can read; the page holds in memory what the
// service says about the person, and the token that changes send. A key's view has an API key in
// sessionStorage instead, so that it ends with the tab.
import { signal, effect } from "../vendor/preact.js";

const KEY = "postfinch.key";
const SUBACCOUNT = "postfinch.subaccount";
const THEME = "postfinch.theme";
/** Where the Send page keeps what is being written; it ends with the session. */
export const DRAFT = "postfinch.draft";

/**
 * A link that came by mail, from an identity provider or from the command line, such as
 * `#invitation=TOKEN`: `{kind, value}`, or null.
 */
export const visit = signal(/** @type {Api.Visit | null} */ (null));
const KINDS = ["invitation", "reset", "local", "sign-in-failed"];

/** Take what signs in out of the address, so that neither history nor a shared link holds it. */
function readAddress() {
  const [, kind, text] = /^#([a-z-]+)=(.*)$/.exec(location.hash) ?? [];
  if (kind !== "key" && !KINDS.includes(kind)) return null;
  history.replaceState(null, "", location.pathname + location.search);
  const value = decoded(text);
  if (kind === "key") return value;
  // Such a link is for a person: it ends a key's view
  sessionStorage.removeItem(KEY);
  visit.value = { kind, value };
  return null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function keyFromAddress() {
  const fresh = readAddress();
  if (!fresh) return null;
  sessionStorage.removeItem(SUBACCOUNT);
  if (fresh !== sessionStorage.getItem(KEY)) sessionStorage.removeItem(DRAFT);
  return fresh;
}

/** The key of a key's view; empty for a person, and while nobody is signed in. */
export const key = signal(keyFromAddress() ?? sessionStorage.getItem(KEY) ?? "");
/** The person who is signed in, as `GET /me` says; null in a key's view. */
export const person = signal(null);
/** What a change by the session's cookie sends against forged requests. */
export const csrfToken = signal("");
/** Whether the session may only set up a second factor. */
export const enrolling = signal(false);
/** Whether the service was not yet asked who is signed in. */
export const asking = signal(!key.value);
/** Why the sign-in page is shown, in a sentence; empty for those who just came. */
export const notice = signal("");
export const subaccount = signal(sessionStorage.getItem(SUBACCOUNT) ?? "");
export const theme = signal(localStorage.getItem(THEME) ?? "auto");

effect(() => keep(sessionStorage, KEY, key.value));
effect(() => keep(sessionStorage, SUBACCOUNT, subaccount.value));
effect(() => {
  keep(localStorage, THEME, theme.value === "auto" ? "" : theme.value);
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

// A link that signs in also works in a tab where the console is already open.
window.addEventListener("hashchange", () => {
  const fresh = keyFromAddress();
  if (fresh) beginKey(fresh);
  else if (visit.value && key.value) forget();
});

/** Whose draft the tab holds. */
let lastPerson = "";

/** What tells sessions apart: the key, or the person's id; empty while nobody is signed in. */
export const identity = () => key.value || person.value?.id || "";

/** Begin a key's view in this tab. */
export function beginKey(text) {
  forgetPerson();
  visit.value = null;
  notice.value = "";
  key.value = text;
}

/** Take over what `GET /me` says. */
export function beginPerson(details) {
  if (lastPerson && lastPerson !== details.id) forgetWork();
  lastPerson = details.id;
  key.value = "";
  notice.value = "";
  csrfToken.value = details.csrf_token;
  enrolling.value = false;
  person.value = details;
}

/** End the session in this tab, with all that was done in it. */
export function forget(reason = "") {
  forgetPerson();
  forgetWork();
  lastPerson = "";
  key.value = "";
  notice.value = reason;
}

/** The session ended by itself: what its person was writing waits until they are back. */
export function expire(reason) {
  if (key.value) return forget(reason);
  forgetPerson();
  notice.value = reason;
  return undefined;
}

function forgetPerson() {
  person.value = null;
  csrfToken.value = "";
  enrolling.value = false;
}

function forgetWork() {
  subaccount.value = "";
  sessionStorage.removeItem(DRAFT);
}

function keep(storage, name, value) {
  if (value) storage.setItem(name, value);
  else storage.removeItem(name);
}
