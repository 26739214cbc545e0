// Which mail clients do not show what a message's HTML and CSS ask for, in few words: the check
// tells of each version of each client.
import { get } from "./api.js";

/**
 * What a version of a client does with a feature; `note` is the number of one of the feature's
 * notes, or empty.
 * @typedef {{family: string, platform: string, version: string, name: string,
 *   support: "yes" | "partial" | "no", note: string}} Client
 */

/** The clients that most people read mail with come first. */
const FIRST = ["Gmail", "Apple Mail", "Outlook", "Yahoo! Mail", "Samsung Email"];
const PLATFORMS = { "Desktop Webmail": "web", "Mobile Webmail": "mobile web" };

/**
 * The HTML check of a message, with all features that some client does not support as `rows`, the
 * least supported first. Those that do not weigh in the score are among them.
 */
export async function htmlCheckOf(message, signal) {
  const path = `local/mailbox/${message}/html-check`;
  const { results: check } = await get(path, undefined, { signal });
  const families = Object.keys(check.platforms);
  const rows = [...check.warnings, ...check.others].map((each) => ({
    ...each,
    notes: Object.entries(each.notes).map(([note, text]) => [Number(note), withoutMarkup(text)]),
    none: clientsWith(each.results, "no", families),
    partly: clientsWith(each.results, "partial", families),
  }));
  rows.sort((a, b) => b.unsupported - a.unsupported || b.partial - a.partial);
  return { ...check, rows };
}

const withoutMarkup = (text) =>
  new DOMParser().parseFromString(text, "text/html").body.textContent ?? "";

/**
 * The clients with some support, each with what stands for it: its family alone if all of its
 * platforms have it. `notes` are the numbers of those that tell more.
 * @param {Client[]} clients
 * @param {Client["support"]} support
 * @param {string[]} families the names of all families
 */
export function clientsWith(clients, support, families) {
  const groups = [...Map.groupBy(clients, (each) => familyOf(each, families))];
  groups.sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
  return groups.flatMap(([family, all]) => {
    const those = all.filter((each) => each.support === support);
    if (!those.length) return [];
    const notes = new Set(those.map((each) => Number(each.note)).filter(Boolean));
    return [{ name: nameOf(family, all, support), notes: [...notes].sort((a, b) => a - b) }];
  });
}

const rank = (family) => (FIRST.includes(family) ? FIRST.indexOf(family) : FIRST.length);

/** The longest name of a family that the name of a client begins with. */
function familyOf({ name, family }, families) {
  const names = families.filter((each) => name.startsWith(`${each} `));
  return names.sort((a, b) => b.length - a.length)[0] ?? family;
}

/** What stands for those of a family with some support. */
function nameOf(family, all, support) {
  if (all.every((each) => each.support === support)) return family;
  const parts = [...Map.groupBy(all, (each) => each.platform).values()].flatMap((versions) =>
    partOf(family, versions, support),
  );
  return `${family} (${parts.join(", ")})`;
}

/** The platform, with its versions if the latest one is not among them. */
function partOf(family, versions, support) {
  const those = versions.filter((each) => each.support === support);
  if (!those.length) return [];
  const { name, version } = versions[0];
  const platform = name.slice(family.length, name.length - version.length - 3).trim();
  const isLatest = versions.at(-1)?.support === support;
  const numbers = isLatest ? "" : those.map((each) => each.version).join(", ");
  return [[PLATFORMS[platform] ?? platform, numbers].filter(Boolean).join(" ")];
}
