// The data that a message to a recipient is made with, and what of it is missing.

const STEP = /[^.[\]'"]+/g;

/**
 * The data for one recipient of a transmission, as the API merges it: the last source that has a
 * name wins.
 */
export function dataOf({ metadata, substitution_data: data }, recipient) {
  const own = { ...metadata, ...data, ...recipient?.metadata, ...recipient?.substitution_data };
  const { address } = recipient ?? {};
  return address ? { ...own, address, email: address.email, email_id: address.email } : own;
}

/**
 * The variables that data of recipients lacks: `[{name, addresses}]`, what most lack first.
 * `variables` are those that the validator found; one that the content copes without is none of
 * them.
 */
export function lacking(variables, transmission, recipients) {
  const names = [...new Set(variables.filter((each) => !each.optional).map((each) => each.name))];
  /** @type {Array<{name: string, keys: string[], addresses: string[]}>} */
  const all = names.map((name) => ({ name, keys: name.match(STEP) ?? [], addresses: [] }));
  for (const recipient of recipients) {
    const data = dataOf(transmission, recipient);
    for (const { keys, addresses } of all)
      if (!has(data, keys)) addresses.push(recipient.address.email);
  }
  return all
    .filter((each) => each.addresses.length)
    .sort((one, other) => other.addresses.length - one.addresses.length);
}

/**
 * Whether there is a value other than null. Lists are counted from 1, as the template language
 * does.
 */
function has(data, keys) {
  const value = keys.reduce(
    (part, key) =>
      Array.isArray(part)
        ? part[key - 1]
        : part !== null && typeof part === "object"
          ? part[key]
          : undefined,
    data,
  );
  return value !== undefined && value !== null;
}
