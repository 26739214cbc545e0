// Recipients as CSV. Columns that the API has a field for become that field, all others
// substitution data of their name. A name is both: templates say {{name}}.
import { fromCsv } from "./files.js";
import { inWords } from "./messages.js";

const ADDRESS = ["email", "address", "recipient", "e-mail"];
const OBJECTS = ["metadata", "substitution_data", "options"];
const SLICE = 2000;

/** The columns of a recipient in a file. */
export const FIELDS = ["email", "name", "header_to", "tags", ...OBJECTS, "return_path"];

/**
 * Split CSV into rows `{line, text, cells: {column: text}}`. The first row is the heading if it
 * names a column of addresses; without one the columns are `columns`, by position. Addresses are at
 * `email`.
 */
export function readTable(text, columns) {
  const rows = fromCsv(text);
  const names = (rows[0] ?? []).map((cell) => cell.trim());
  const headed = names.some((name) => ADDRESS.includes(name.toLowerCase()));
  const heading = (headed ? names : columns).map((name) => {
    const lower = name.toLowerCase();
    return ADDRESS.includes(lower)
      ? "email"
      : columns.includes(lower) || FIELDS.includes(lower)
        ? lower
        : name;
  });
  return rows.slice(headed ? 1 : 0).map((row) => ({
    line: row.line,
    text: row.join(", "),
    cells: Object.fromEntries(
      row
        .map((cell, index) => [heading[index], unguarded(cell.trim())])
        .filter(([name, cell]) => name && cell !== ""),
    ),
  }));
}

/** Say what is wrong with an address, as far as that is certain here; the API decides. */
export function addressProblem(address) {
  if (!address) return "The address is missing";
  return /^\S.*@[^\s@]+$/.test(address) ? "" : `${address} is not an email address`;
}

/**
 * Read recipients from CSV, in slices so that the page stays alive; `progress(done, total)` is
 * called after each. Returns `{recipients, lines, bad: [{line, text, reason}]}`; `lines` has the
 * line of each recipient.
 * @param {string} text
 * @param {(done: number, total: number) => void} [progress]
 */
export async function readRecipients(text, progress = () => {}) {
  const rows = readTable(text, ["email", "name"]);
  /** @type {{recipients: Api.Recipient[], lines: number[], bad: Api.BadRow[]}} */
  const result = { recipients: [], lines: [], bad: [] };
  for (let start = 0; start < rows.length; start += SLICE) {
    for (const { line, text: row, cells } of rows.slice(start, start + SLICE)) {
      try {
        result.recipients.push(recipient(cells));
        result.lines.push(line);
      } catch (error) {
        result.bad.push({ line, text: row, reason: error.message });
      }
    }
    progress(Math.min(rows.length, start + SLICE), rows.length);
    await new Promise((resolve) => {
      setTimeout(resolve);
    });
  }
  return result;
}

/** The API's errors of single recipients as bad rows; those that name an address get its line. */
export function badRows(errors, { recipients, lines }) {
  const places = new Map(recipients.map((each, index) => [each.address.email, lines[index]]));
  return errors.map((error) => {
    const address = /^'(.*)' is not a valid email address$/.exec(error.description ?? "")?.[1];
    return { line: places.get(address), text: address ?? "", reason: inWords(error) };
  });
}

/** A recipient as the API shows it, as a row of a file with `FIELDS`. */
export function toRow({ address, ...rest }) {
  return typeof address === "string" ? { email: address, ...rest } : { ...address, ...rest };
}

/**
 * @param {Record<string, string>} cells
 * @returns {Api.Recipient}
 */
function recipient({
  email,
  name,
  header_to: headerTo,
  tags,
  return_path: returnPath,
  metadata,
  substitution_data: data,
  options,
  ...others
}) {
  const problem = addressProblem(email);
  if (problem) throw new Error(problem);
  /** @type {Api.Recipient & Record<string, any>} */
  const result = { address: { email } };
  if (name) result.address.name = name;
  if (headerTo) result.address.header_to = headerTo;
  if (tags)
    result.tags = tags.startsWith("[")
      ? parsed("tags", tags, Array.isArray, "an array")
      : tags
          .split(/[|;,]/)
          .map((each) => each.trim())
          .filter(Boolean);
  const objects = { metadata, substitution_data: data, options };
  for (const field of OBJECTS)
    if (objects[field]) result[field] = parsed(field, objects[field], isObject, "an object");
  const columns = name ? { name, ...others } : others;
  if (Object.keys(columns).length)
    result.substitution_data = { ...columns, ...result.substitution_data };
  if (returnPath) result.return_path = returnPath;
  return result;
}

function parsed(field, text, check, kind) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${field} is not valid JSON`);
  }
  if (!check(value)) throw new Error(`${field} must be ${kind}`);
  return value;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Take off the apostrophe that `toCsv` sets before a text that a spreadsheet would run. */
const unguarded = (text) => text.replace(/^'(?=[=+\-@])/, "");
