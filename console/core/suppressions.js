// The vocabulary of the suppression list, its search, and reading entries from CSV.
import { get } from "./api.js";
import { addressProblem, readTable } from "./recipients.js";

export const PATH = "api/v1/suppression-list";
export const TYPES = {
  transactional: "Transactional",
  non_transactional: "Non-transactional",
  open_tracking: "Open tracking",
};

/** Source → its name in the summary, tone and icon. */
export const SOURCES = {
  "Bounce Rule": ["bounce_rule", "bad", "mail-x"],
  "Spam Complaint": ["spam_complaint", "plum", "flag"],
  "Unsubscribe Link": ["unsubscribe_link", "plum", "user-minus"],
  "List Unsubscribe": ["list_unsubscribe", "plum", "user-minus"],
  "Manually Added": ["manually_added", "", "user"],
  Compliance: ["compliance", "warn", "shield-alert"],
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
/**
 * The path and the query of a search.
 * @param {Record<string, string>} query that of the page
 * @returns {["api/v1/suppression-list", Api.Query]}
 */
export function searchOf({ recipient = "", type, source, list, from, to, text }) {
  const types = type || Object.keys(TYPES).join(",");
  const whom = isAddress(recipient)
    ? { recipient: recipient.trim() }
    : { domain: recipient.trim().replace(/^@/, "") };
  return [
    PATH,
    {
      types,
      sources: source,
      list_id: list,
      from,
      to: to && `${to}T23:59:59`,
      description: text,
      ...whom,
      cursor: "initial",
      per_page: 500,
    },
  ];
}

/** One page of a search: `{results, total, next}`. */
export async function searchPage(query, signal) {
  const answer = await get(...searchOf(query), { signal });
  return { results: answer.results, total: answer.total_count, next: nextOf(answer) };
}

/** The path of the page after an answer of the search. */
export const nextOf = (answer) => answer.links?.find((each) => each.rel === "next")?.href;

/**
 * Read entries from CSV: `{entries, lines, bad}`. `type` and `list` are for rows without their own.
 */
export function readEntries(text, { type, list }) {
  /** @type {{entries: Record<string, string>[], lines: number[], bad: Api.BadRow[]}} */
  const result = { entries: [], lines: [], bad: [] };
  for (const { line, text: row, cells } of readTable(text, [
    "email",
    "type",
    "description",
    "list_id",
  ])) {
    const entry = { recipient: cells.email, type: cells.type ?? type };
    if (cells.description) entry.description = cells.description;
    if (cells.list_id ?? list) entry.list_id = cells.list_id ?? list;
    const reason =
      addressProblem(cells.email) ||
      (entry.type in TYPES ? "" : `${entry.type} is not a type: ${Object.keys(TYPES).join(", ")}`);
    if (reason) result.bad.push({ line, text: row, reason });
    else {
      result.entries.push(entry);
      result.lines.push(line);
    }
  }
  return result;
}

const isAddress = (text = "") => /\S@\S/.test(text);
