// Images that HTML names by `cid:`, which a preview has no message for.

const REFERENCE = /(["'(=\s])cid:([^"'\s)>]*)/gi;

/**
 * HTML with the data of `images`, `[{name, type, data}]` in base64; others show their alternative
 * texts.
 */
export function withImages(html, images = []) {
  const sources = new Map(
    images.map(({ name, type, data }) => [name, `data:${type};base64,${data}`]),
  );
  return html?.replaceAll(REFERENCE, (_, before, name) => before + (sources.get(name) ?? "data:,"));
}
