// Ids made of names, for things whose id is left empty.
const LONGEST = 64;
/** Letters that Unicode does not take apart. */
const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l", ı: "i" };

/** `Zürich & Århus` → `zurich-arhus`; empty for a name without any letter that an id may have. */
export function slugOf(name) {
  const letters = name.toLowerCase().replaceAll(/[ßæœøđłı]/g, (letter) => LETTERS[letter]);
  const plain = letters.normalize("NFKD").replaceAll(/\p{M}/gu, "");
  return trimmed(plain.replaceAll(/[^a-z0-9_]+/g, "-"))
    .slice(0, LONGEST)
    .replace(/-$/, "");
}

const trimmed = (text) => text.replace(/^-/, "").replace(/-$/, "");

/**
 * The slug of a name, with a number where one of `ids` has it already; empty as that of `slugOf`.
 */
export function freeId(name, ids) {
  const slug = slugOf(name);
  const taken = new Set(ids);
  if (!slug || !taken.has(slug)) return slug;
  for (let number = 2; ; number += 1) {
    const end = `-${number}`;
    const id = slug.slice(0, LONGEST - end.length) + end;
    if (!taken.has(id)) return id;
  }
}
