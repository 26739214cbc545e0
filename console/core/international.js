// Domains beyond ASCII: the service shows A-labels (`xn--bcher-kva.test`), people read letters.
const BASE = 36,
  LEAST = 1,
  MOST = 26;
const READABLE = /^[\p{L}\p{M}\p{N}\-·・]+$/u;

/**
 * A domain, or an address with one, in letters; empty where there is no A-label that can be read.
 */
export function inLetters(name) {
  const labels = String(name)
    .split(/(?<=[@.])/)
    .map(labelInLetters);
  const text = labels.join("");
  return text === name ? "" : text;
}

/** `u@xn--bcher-kva.test` → `u@xn--bcher-kva.test (u@bücher.test)` */
export function withLetters(name) {
  const letters = inLetters(name);
  return letters ? `${name} (${letters})` : name;
}

function labelInLetters(label) {
  const [, code, dot] = /^xn--([a-z0-9-]+)(\.?)$/i.exec(label) ?? [];
  if (!code) return label;
  try {
    const letters = decoded(code.toLowerCase());
    return READABLE.test(letters) ? letters + dot : label;
  } catch {
    return label;
  }
}

/** Punycode (RFC 3492 6.2). */
function decoded(code) {
  const end = Math.max(0, code.lastIndexOf("-"));
  const letters = [...code.slice(0, end)];
  let point = 128,
    place = 0,
    bias = 72;
  for (let at = end && end + 1; at < code.length;) {
    const first = place;
    for (let weight = 1, step = BASE; ; step += BASE) {
      const digit = digitOf(code.charCodeAt(at++));
      const threshold = Math.min(MOST, Math.max(LEAST, step - bias));
      place += digit * weight;
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const count = letters.length + 1;
    bias = adapted(place - first, count, first === 0);
    point += Math.floor(place / count);
    place %= count;
    letters.splice(place++, 0, String.fromCodePoint(point));
  }
  return letters.join("");
}

function digitOf(unit) {
  if (unit >= 97 && unit <= 122) return unit - 97;
  if (unit >= 48 && unit <= 57) return unit - 22;
  throw new RangeError("not a digit of Punycode");
}

/** RFC 3492 6.1 */
function adapted(delta, count, isFirst) {
  let rest = Math.floor(delta / (isFirst ? 700 : 2));
  rest += Math.floor(rest / count);
  let bias = 0;
  for (; rest > 455; bias += BASE) rest = Math.floor(rest / (BASE - LEAST));
  return bias + Math.floor((36 * rest) / (rest + 38));
}
