// The vocabulary of the suppression list, its search, and reading entries from CSV.
import { get } from "./api.js";
import { addressProblem, readTable } from "./recipients.js";

export const PATH = "api/v1/suppression-list";
export const TYPES = { transactional: "Transactional", non_transactional: "Non-transactional", open_tracking: "Open tracking" };

/** Source → its name in the summary, tone and icon. */
export const SOURCES = {
  "Bounce Rule": ["bounce_rule", "bad", "mail-x"], "Spam Complaint": ["spam_complaint", "plum", "flag"],
  "Unsubscribe Link": ["unsubscribe_link", "plum", "user-minus"], "List Unsubscribe": ["list_unsubscribe", "plum", "user-minus"],
  "Manually Added": ["manually_added", "", "user"], Compliance: ["compliance", "warn", "shield-alert"],
  "Tracking Consent Revoked": ["tracking_consent_revoked", "", "eye-off"],
};

/** What an entry of a type holds back. */
export const EFFECTS = {
  transactional: "Gets no transactional mail, such as receipts.",
  non_transactional: "Gets no marketing mail.",
  open_tracking: "Its opens are not tracked. Mail is sent.",
};

/** The path of a recipient's entries. */
export const pathOf = (recipient) => `${PATH}/${encodeURIComponent(recipient)}`;

/** The request for the first page of the search that the address of the view describes. */
export function searchOf({ recipient = "", type, source, list, from, to, text }) {
  const types = type || Object.keys(TYPES).join(",");
  if (isAddress(recipient)) return [pathOf(recipient.trim()), { types, per_page: 10000 }];
  return [PATH, { types, sources: source, list_id: list, from, to: to && `${to}T23:59:59`, description: text, domain: recipient.trim().replace(/^@/, ""), cursor: "initial", per_page: 500 }];
}

/** One page of a search: `{results, total, next}`. Filters that the API lacks for one recipient apply here. */
export async function searchPage(query, signal) {
  try {
    const answer = await get(...searchOf(query), { signal });
    if (!isAddress(query.recipient)) return { results: answer.results, total: answer.total_count, next: nextOf(answer) };
    const results = answer.results.filter((each) => matches(each, query));
    return { results, total: results.length };
  } catch (error) {
    if (error.status === 404) return { results: [], total: 0 };
    throw error;
  }
}

/** The path of the page after an answer of the search. */
export const nextOf = (answer) => answer.links?.find((each) => each.rel === "next")?.href;

/** Read entries from CSV: `{entries, lines, bad}`. `type` and `list` are for rows without their own. */
export function readEntries(text, { type, list }) {
  const result = { entries: [], lines: [], bad: [] };
  for (const { line, text: row, cells } of readTable(text, ["email", "type", "description", "list_id"])) {
    const entry = { recipient: cells.email, type: cells.type ?? type };
    if (cells.description) entry.description = cells.description;
    if (cells.list_id ?? list) entry.list_id = cells.list_id ?? list;
    const reason = addressProblem(cells.email) || (entry.type in TYPES ? "" : `${entry.type} is not a type: ${Object.keys(TYPES).join(", ")}`);
    if (reason) result.bad.push({ line, text: row, reason });
    else {
      result.entries.push(entry);
      result.lines.push(line);
    }
  }
  return result;
}

const isAddress = (text = "") => /\S@\S/.test(text);

function matches(entry, { source, list, from, to, text }) {
  const updated = Date.parse(entry.updated);
  return (!source || entry.source === source) && (!list || (entry.list_id ?? "").toLowerCase() === list.toLowerCase())
    && (!from || updated >= Date.parse(`${from}T00:00:00Z`)) && (!to || updated <= Date.parse(`${to}T23:59:59.999Z`))
    && (!text || text.toLowerCase().split(/\s+/).every((word) => (entry.description ?? "").toLowerCase().includes(word)));
}
