// Which mail clients do not show what a message's HTML and CSS ask for, in few words: the check
// tells of each version of each client.
import { get } from "./api.js";

/**
 * What a client shows of a feature; `note` is the number of one of the feature's notes, or empty.
 * @typedef {{family: string, platform: string, version: string, name: string,
 *   support: "yes" | "partial" | "no", note: string}} Client
 */

/** The clients that most people read mail with come first. */
const FIRST = ["gmail", "apple-mail", "outlook", "yahoo", "samsung-email"];
const PLATFORMS = { "Desktop Webmail": "web", "Mobile Webmail": "mobile web" };

/**
 * The HTML check of a message. Each warning also has the `example` of its feature, as the message
 * has it; it is empty if that is not known.
 */
export async function htmlCheckOf(message, signal) {
  const path = `local/mailbox/${message}`;
  const [check, features] = await Promise.all(
    ["html-check", "features"].map((each) => get(`${path}/${each}`, undefined, { signal })),
  );
  const examples = new Map(features.results.map((each) => [each.feature, each.example]));
  const warnings = check.results.warnings.map((each) => ({
    ...each,
    example: examples.get(each.slug) ?? "",
  }));
  return { ...check.results, warnings: warnings.sort(byWeight) };
}

const byWeight = (a, b) => b.unsupported - a.unsupported || b.partial - a.partial;

/**
 * The clients with some support, each with what stands for it: its family alone if all of its
 * platforms have it. `notes` are the numbers of those that tell more.
 * @param {Client[]} clients
 * @param {Client["support"]} support
 */
export function clientsWith(clients, support) {
  const families = [...Map.groupBy(clients, (each) => each.family)];
  families.sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
  return families.flatMap(([, all]) => {
    const those = all.filter((each) => each.support === support);
    if (!those.length) return [];
    const notes = new Set(those.map((each) => each.note).filter(Boolean));
    return [
      { name: nameOf(all, support), notes: [...notes].sort((a, b) => Number(a) - Number(b)) },
    ];
  });
}

const rank = (family) => (FIRST.includes(family) ? FIRST.indexOf(family) : FIRST.length);

/** What stands for those of a family with some support. */
function nameOf(all, support) {
  const family = familyName(all);
  if (all.every((each) => each.support === support)) return family;
  const parts = [...Map.groupBy(all, (each) => each.platform).values()].flatMap((versions) =>
    partOf(versions, support, family),
  );
  return parts.length ? `${family} (${parts.join(", ")})` : family;
}

/** The platform, with its versions if the latest one is not among them. */
function partOf(versions, support, family) {
  const those = versions.filter((each) => each.support === support);
  if (!those.length) return [];
  const platform = withoutVersion(versions[0]).slice(family.length).trim();
  const isLatest = versions.at(-1).support === support;
  const numbers = isLatest ? "" : those.map((each) => each.version).join(", ");
  return [[PLATFORMS[platform] ?? platform, numbers].filter(Boolean).join(" ")];
}

/** The words that the names of all platforms begin with. */
function familyName(clients) {
  const [first, ...others] = [...new Set(clients.map(withoutVersion))].map((each) =>
    each.split(" "),
  );
  if (!others.length) return first.join(" ");
  const end = first.findIndex((word, index) => others.some((each) => each[index] !== word));
  return (end < 1 ? first : first.slice(0, end)).join(" ");
}

const withoutVersion = ({ name, version }) =>
  name.endsWith(` (${version})`) ? name.slice(0, -version.length - 3) : name;
