// What the console knows about API keys: their ends, their uses and who made them.
import { ago, exactTime } from "./format.js";

export const API_KEYS = "api/v1/api-keys";
const DAY = 86400000;
const HOUR = 3600000;
/** A key that ends within these days is told of. */
const SOON_DAYS = 7;

/** What can be listed besides all keys: `[name, text]`. */
export const SHOWN = [
  ["", "All keys"],
  ["ending", "Ending within a week"],
  ["ended", "Ended"],
  ["unused", "Not used for 90 days"],
];

const inDays = (days) => new Date(Date.now() + days * DAY).toISOString();

/** The query of the keys to show, and which of the answer to show. */
export function listOf(q, shown) {
  const label = q.trim() || undefined;
  if (shown === "ending")
    return { query: { label, expires_before: inDays(SOON_DAYS) }, fits: (key) => !hasEnded(key) };
  if (shown === "ended") return { query: { label, expires_before: inDays(0) }, fits: () => true };
  if (shown === "unused")
    return { query: { label, last_used_before: inDays(-90) }, fits: () => true };
  return { query: { label }, fits: () => true };
}

export const hasEnded = (key) =>
  key.expires_at !== null && Date.parse(key.expires_at) <= Date.now();
export const endsSoon = (key) =>
  key.expires_at !== null &&
  !hasEnded(key) &&
  Date.parse(key.expires_at) < Date.now() + SOON_DAYS * DAY;

/** When a key was last used; the API knows the hour. */
export function lastUse(key) {
  if (!key.last_used) return "never used";
  const age = Date.now() - Date.parse(key.last_used);
  return `last used ${age < HOUR ? "within the hour" : ago(key.last_used)}`;
}

export const exactUse = (key) =>
  key.last_used ? `In the hour from ${exactTime(key.last_used)}` : "";

/** Who made a key, or an empty text. */
export function maker({ created_by: by }) {
  if (!by) return "";
  if (by.type === "user") return by.label;
  return by.type === "key" ? `the key ${by.label}` : "the operator";
}
