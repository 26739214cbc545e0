// Whether mail of the mailbox can be let out, by which host and to whom.
import { signal } from "../vendor/preact.js";
import { get } from "./api.js";
import { inLetters } from "./international.js";

/** What the service says about it; `warning` is null where nothing is let out. */
export const releasing = signal(
  /** @type {{host: string | null, recipients: string[], warning: string | null}} */ ({
    host: null,
    recipients: [],
    warning: null,
  }),
);

export async function learnReleasing() {
  releasing.value = (await get("local/releasing")).results;
}

/**
 * Whether a list of addresses and patterns admits an address. The service decides; this only saves
 * typing. An expression that this browser cannot read admits nobody.
 * @param {string[]} entries
 * @param {string} address
 */
export function admits(entries, address) {
  const forms = [address, inLetters(address)].filter(Boolean);
  return entries.some((entry) => {
    const expression = expressionOf(entry);
    return expression !== null && forms.some((each) => expression.test(each));
  });
}

function expressionOf(entry) {
  const [, source] = /^\/(.+)\/$/.exec(entry) ?? [];
  try {
    if (source) return new RegExp(source);
  } catch {
    return null;
  }
  const pieces = entry.split("*").map((each) => each.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${pieces.join(".*")}$`, "i");
}
