// Which mail clients support which features of HTML and CSS: the data of caniemail.com, loaded when
// they are first needed.
import { get } from "./api.js";

/** The clients that most people read mail with come first. */
const FIRST = ["Gmail", "Apple Mail", "Outlook", "Yahoo! Mail", "Samsung Email"];
const PLATFORMS = { "Desktop Webmail": "web", "Mobile Webmail": "mobile web" };

/** @type {Promise<any> | null} */
let table = null;
const load = () => {
  table ??= get("console/vendor/caniemail.json").catch((error) => {
    table = null;
    throw error;
  });
  return table;
};

/**
 * What a message uses that some client does not support, the least supported first:
 * `{date, rows: [{feature, title, uses, example, none, partly}], others}`. `none` and `partly` are
 * `{count, names}` of clients; `others` is how many features every client supports.
 */
export async function supportOf(message, signal) {
  const [{ results }, { date, clients, features }] = await Promise.all([
    get(`local/mailbox/${message}/features`, undefined, { signal }),
    load(),
  ]);
  const known = results.filter((each) => features[each.feature]);
  const rows = known
    .map((each) => {
      const [title, letters] = features[each.feature];
      return {
        ...each,
        title,
        none: clientsOf(clients, letters, "n"),
        partly: clientsOf(clients, letters, "a"),
      };
    })
    .filter(({ none, partly }) => none.count + partly.count);
  rows.sort((a, b) => b.none.count - a.none.count || b.partly.count - a.partly.count);
  return { date, rows, others: known.length - rows.length };
}

/** The clients with a letter; of one that has it on all of its platforms, the name alone. */
function clientsOf(clients, letters, letter) {
  /** @type {Map<string, Array<{family: string, platform: string, letter: string}>>} */
  const all = Map.groupBy(
    clients
      .map(([family, platform], index) => ({ family, platform, letter: letters[index] }))
      .filter((each) => each.letter !== "-"),
    (each) => each.family,
  );
  const place = (family) => (FIRST.includes(family) ? FIRST.indexOf(family) : FIRST.length);
  const families = [...all.keys()].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  let count = 0;
  const names = [];
  for (const family of families) {
    const own = all.get(family) ?? [];
    const those = own
      .filter((each) => each.letter === letter)
      .map(({ platform }) => PLATFORMS[platform] ?? platform);
    count += those.length;
    if (those.length)
      names.push(those.length === own.length ? family : `${family} (${those.join(", ")})`);
  }
  return { count, names };
}

export const pageOf = (feature) => `https://www.caniemail.com/features/${feature}/`;
