// What the API says about a mistake, for people who do not know its fields.
import { label, number } from "./format.js";
import { person } from "./session.js";

const KINDS = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object { … }",
  array: "a list",
  null: "empty",
};
const SHORT = {
  Html: "HTML",
  Dkim: "DKIM",
  Ip: "IP",
  Ips: "IPs",
  Url: "URL",
  Amp: "AMP",
  Mjml: "MJML",
  Ab: "A/B",
};

/** Headings of the API that say nothing beside a description. */
const HEADINGS =
  /^(invalid |required |resource |template already exists|subresource |substitution |illegal |schedule window|Forbidden\.|Request entity|Service unavailable|request to remote)/i;

/**
 * Texts of the API → what they mean.
 * @type {Array<[RegExp, (...parts: string[]) => string]>}
 */
const RULES = [
  [
    /^field '(.+?)' is of type '.+?', but needs to be of type (.+)$/,
    (name, kinds) => `${fieldName(name)} must be ${kindNames(kinds)}`,
  ],
  [/^the request body is of type .+$/, () => "This is not what the service expects here"],
  [
    /^field '(.+?)' has length '(\d+)'.* max length (?:is )?'(\d+)'$/,
    (name, length, most) =>
      `${fieldName(name)} is too long: ${number(Number(length))} characters, and at most ` +
      `${number(Number(most))} fit`,
  ],
  [
    /^field '(.+?)' has length '\d+'.* min length '(\d+)'$/,
    (name, least) => `${fieldName(name)} is too short: it needs at least ${number(Number(least))}`,
  ],
  [
    /^field '(.+?)' ((?:is|may|must|needs|has|can) .+)$/,
    (name, rest) => `${fieldName(name)} ${rest}`,
  ],
  [/^field '(.+?)':? (.+)$/, (name, rest) => `${fieldName(name)}: ${rest}`],
  [/^([\w.[\]]+) is (?:a )?required(?: field)?$/, (name) => `${fieldName(name)} is missing`],
  [
    /^content object or template_id required$/,
    () => "The content is missing: write one, or choose a template",
  ],
  [/^address\.email required for each recipient$/, () => "Each recipient needs an address"],
  [
    /^Unconfigured Sending Domain <(.*)>$/,
    (domain) => `Nothing can be sent from ${domain}: it is no sending domain of this account`,
  ],
  [
    /^Unverified Sending Domain <(.*)>$/,
    (domain) => `Nothing can be sent from ${domain}: it is not verified yet`,
  ],
  [/^Blocked Sending Domain <(.*)>$/, (domain) => `The operator has blocked ${domain}`],
  [
    /^Exceed Sending Limit \((.+?)\)(?:: (.*))?$/,
    (limit, detail = "") => `The ${limit} sending limit is reached. ${detail}`.trim(),
  ],
  [/^Error while (?:compiling|rendering) .+?: (?:line \d+: )?(.+)$/, (detail) => detail],
  [
    /^Problems parsing request as json: (.+)$/,
    (detail) => `The service cannot read this: ${detail}`,
  ],
  [/^Forbidden\.?$/, () => `${person.value ? "You" : "This key"} may not do this`],
];

const HINTS = {
  2101: "Settings shows how much of the plan is used.",
  7001: "Domains lists those that mail can be sent from, and what another one still needs.",
};

/**
 * One error of an answer as a sentence.
 * @param {Partial<Api.Error>} error
 */
export function inWords({ message, description, param }) {
  const text =
    !description || (message && !HEADINGS.test(message))
      ? [message, description].filter(Boolean).join(": ")
      : description;
  return sentence(
    translated(text.replace(param ? `${param}: ` : "", param ? `${fieldName(param)}: ` : "")),
  );
}

/** The same in the words of the API. */
export const asSaid = ({ code, message, description }) =>
  [code, message, description].filter(Boolean).join(": ");

/** What to do about an error, as far as its code tells; empty where it does not. */
export function codeHint({ code, message, description }) {
  if (/already exists/i.test(`${message} ${description}`)) return "Choose another id or name.";
  return HINTS[code] ?? "";
}

/** `recipients[3].address.email` → `Recipient 4: email` */
export function fieldName(path) {
  const recipient = /^recipients\[(\d+)\]\.?(.*)$/.exec(path);
  if (recipient)
    return (
      `Recipient ${Number(recipient[1]) + 1}` +
      (recipient[2] ? `: ${fieldName(recipient[2]).toLowerCase()}` : "")
    );
  const words = label(
    path
      .split(".")
      .at(-1)
      .replaceAll(/\[\d+\]/g, ""),
  ).split(" ");
  return words.map((word, index) => SHORT[index ? label(word) : word] ?? word).join(" ");
}

function translated(text) {
  for (const [pattern, words] of RULES) {
    const match = pattern.exec(text);
    if (match) return words(...match.slice(1));
  }
  return text;
}

const kindNames = (kinds) =>
  kinds
    .split(" or ")
    .map((each) => KINDS[each.replaceAll("'", "")] ?? each)
    .join(" or ");

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first.replace(/\.$/, "") : first;
}
