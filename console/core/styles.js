// Style sheets that the first view does without: loaded beside the module of what needs them.

/** @type {Map<string, Promise<void>>} */
const sheets = new Map();

/** Load a style sheet once; a failure is no reason to show nothing. */
export function styles(path) {
  if (!sheets.has(path)) sheets.set(path, load(path));
  return sheets.get(path);
}

/**
 * What a `Lazy` loads: the module, once its style sheets are there as well.
 * @param {() => Promise<any>} module
 * @param {string[]} paths
 */
export const styled = (module, paths) => async () => {
  const [loaded] = await Promise.all([module(), ...paths.map(styles)]);
  return loaded;
};

function load(path) {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: path });
  return new Promise((resolve) => {
    link.onload = resolve;
    link.onerror = resolve;
    document.head.append(link);
  });
}
