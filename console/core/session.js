// The session of this tab: the key, the subaccount that requests act for, and the theme.
// The key is kept in sessionStorage only, so that it ends with the tab.
import { signal, effect } from "../vendor/preact.js";

const KEY = "postfinch.key";
const SUBACCOUNT = "postfinch.subaccount";
const THEME = "postfinch.theme";
/** Where the Send page keeps what is being written; it ends with the session. */
export const DRAFT = "postfinch.draft";

/** Take the key out of `#key=...`, so that neither history nor a shared address holds it. */
function keyFromAddress() {
  if (!location.hash.startsWith("#key=")) return null;
  const key = decodeURIComponent(location.hash.slice("#key=".length));
  history.replaceState(null, "", location.pathname + location.search);
  sessionStorage.removeItem(SUBACCOUNT);
  if (key !== sessionStorage.getItem(KEY)) sessionStorage.removeItem(DRAFT);
  return key;
}

export const key = signal(keyFromAddress() ?? sessionStorage.getItem(KEY) ?? "");
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
  if (fresh) key.value = fresh;
});

export function signOut() {
  key.value = "";
  subaccount.value = "";
  sessionStorage.removeItem(DRAFT);
}

function keep(storage, name, value) {
  if (value) storage.setItem(name, value);
  else storage.removeItem(name);
}
