// What the console knows about templates: their parts, the data they are tried with, edits that are
// not saved yet.
import { shownSubaccount } from "./service.js";
import { identity, subaccount } from "./session.js";

export const TEMPLATES = "api/v1/templates";
export const templatePath = (id) => `${TEMPLATES}/${encodeURIComponent(id)}`;

/**
 * The parts of content that have an editor: key, name, language. The validator calls them by `key`.
 */
export const PARTS = [
  ["html", "HTML", "html"],
  ["text", "Text", "text"],
  ["amp_html", "AMP", "html"],
];
/** Instead of HTML, which the API compiles from it. */
export const MJML = ["mjml", "MJML", "html"];
/** The only part of content that is a whole message. */
export const SOURCE = ["email_rfc822", "Source", "text"];

export function partsOf(content) {
  if (content.email_rfc822 !== undefined) return [SOURCE];
  return content.mjml === undefined ? PARTS : [MJML, ...PARTS.slice(1)];
}

/** A subaccount may use what the account shares, and not change it. */
export const isShared = (item) =>
  !["", "0"].includes(shownSubaccount()) && item.subaccount_id === undefined;

/** The sender as two texts. It is one text in the API, or an object. */
export const sender = ({ from }) =>
  typeof from === "object" && from !== null
    ? { name: from.name ?? "", email: from.email ?? "" }
    : { name: "", email: from ?? "" };
export const withSender = (content, { name, email }) => ({
  ...content,
  from: name ? { name, email } : email,
});

/**
 * What of a version can be edited; `content` without parts that are empty, or compiled from others.
 * @param {Api.Version} version
 */
export function editable({ name, description, options, content }) {
  const filled = Object.entries(content).filter(
    ([key, value]) => value !== "" && !(key === "html" && content.mjml),
  );
  return { name, description, options: { ...options }, content: Object.fromEntries(filled) };
}

export const isSame = (one, other) =>
  JSON.stringify(sorted(editable(one))) === JSON.stringify(sorted(editable(other)));

function sorted(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .filter((name) => value[name] !== null)
      .map((name) => [name, sorted(value[name])]),
  );
}

/** Where an earlier version of the console kept test data, in this browser only. */
const formerPlace = (id) => `postfinch.test-data.${subaccount.value}.${id}`;

/**
 * The test data of a template or snippet as JSON text. It is stored with it, not as its content.
 */
export function dataText(id, { preview_data: data }) {
  return data ? JSON.stringify(data, null, 2) : (localStorage.getItem(formerPlace(id)) ?? "{}");
}

export const dropFormerData = (id) => localStorage.removeItem(formerPlace(id));

/** Whether a text of test data says something else than what is stored. */
export const isOtherData = (text, stored) =>
  JSON.stringify(parseData(text).value) !== JSON.stringify(stored.preview_data ?? {});

/** What an update stores of the test data: nothing where it is no JSON, or as before. */
export function dataUpdate(text, stored) {
  const { value } = parseData(text);
  return value && isOtherData(text, stored) ? { preview_data: value } : {};
}

/** The object in a JSON text, and what is wrong with the text. */
export function parseData(text) {
  try {
    const value = JSON.parse(text.trim() || "{}");
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value, problem: "" };
    return { value: null, problem: "Test data is an object: { … }" };
  } catch (error) {
    return { value: null, problem: error.message };
  }
}

const edits = new Map();
const session = (id) => JSON.stringify([identity(), subaccount.value, id]);

/** Edits that are not saved yet outlive a look at another page, not the tab. */
export const unsaved = (id) => edits.get(session(id));
export const keepUnsaved = (id, edit) =>
  edit ? edits.set(session(id), edit) : edits.delete(session(id));

window.addEventListener("beforeunload", (event) => {
  if (identity() && edits.size) event.preventDefault();
});
