// What is being written on the Send page. It outlives a look at another page and, as far as there
// is room, a reload of the tab. It is gone with the tab, after sending, and when the session ends.
import { DRAFT } from "./session.js";

/** @type {Api.Draft | null} */
let current = null;
let timer = 0;

/** The draft, or null. */
export function draft() {
  current ??= stored();
  // The session ended elsewhere: what its key wrote is not for the next one
  if (current && sessionStorage.getItem(DRAFT) === null) current = null;
  return current;
}

export function keepDraft(value) {
  current = value;
  if (sessionStorage.getItem(DRAFT) === null) sessionStorage.setItem(DRAFT, "{}");
  clearTimeout(timer);
  timer = setTimeout(store, 200);
}

export function dropDraft() {
  clearTimeout(timer);
  current = null;
  sessionStorage.removeItem(DRAFT);
}

window.addEventListener("pagehide", () => {
  if (timer && current) store();
});

function store() {
  if (!current || sessionStorage.getItem(DRAFT) === null) return;
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify(current));
  } catch {
    // A browser stores about 5 MB for a page: files are left out first
    try {
      sessionStorage.setItem(
        DRAFT,
        JSON.stringify({ ...current, content: { ...current.content, files: [] } }),
      );
    } catch {
      sessionStorage.setItem(DRAFT, "{}");
    }
  }
}

function stored() {
  try {
    const value = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
    return value?.content ? value : null;
  } catch {
    return null;
  }
}
