// What the console knows about received messages: their search, and their verdicts in words.
import { address, get } from "./api.js";

export const RECEIVED = "api/v1/inbound-messages";
export const RECEIVED_GRANT = "inbound_domains/manage";

/** What became of a message: action → text, tone and icon of its badge. */
export const OUTCOMES = {
  webhook: ["Relay webhook", "info", "webhook"],
  forward: ["Forwarded", "plum", "send"],
  store: ["Stored", "", "archive"],
};
export const FILTERS = ["domain", "recipient", "sender", "subject", "action", "days"];
const DAY = 86400000;

/**
 * The query of the list for the filters in the address.
 * @param {Record<string, string>} query
 */
export const searchOf = ({ domain, recipient, sender, subject, action, days }) => ({
  domain,
  recipient,
  sender,
  subject,
  action,
  from: days ? new Date(Date.now() - Number(days) * DAY).toISOString() : undefined,
});

const TONES = {
  pass: ["good", "circle-check"],
  fail: ["bad", "circle-x"],
  permerror: ["bad", "circle-x"],
  softfail: ["warn", "alert-triangle"],
  policy: ["warn", "alert-triangle"],
  temperror: ["warn", "clock"],
};
const NAMES = { spf: "SPF", dkim: "DKIM", dmarc: "DMARC", arc: "ARC" };

/**
 * Verdicts as `[{name, text, tone, icon, about}, ...]`, one for each DKIM signature; those of
 * scanners that are not asked are left out.
 */
export function verdictsOf({ spf, dkim, dmarc, arc, spam, virus }) {
  const signatures = dkim?.length ? dkim : [{ result: "none" }];
  return [
    ...Object.entries({ spf, dkim: signatures, dmarc, arc }).flatMap(([name, verdict]) =>
      [verdict ?? []].flat().map((each) => authenticationOf(NAMES[name], each)),
    ),
    ...(spam ? [spamOf(spam)] : []),
    ...(virus ? [virusOf(virus)] : []),
  ];
}

function authenticationOf(name, { result, reason, ...facts }) {
  const [tone, icon] = TONES[result] ?? ["", "circle"];
  const texts = Object.entries(facts)
    .filter(([, value]) => value !== "" && value !== null && value !== 0)
    .map(([each, value]) => `${each.replaceAll("_", " ")} ${value}`);
  return { name, text: result, tone, icon, about: [texts.join(", "), reason].filter(Boolean) };
}

function spamOf({ is_spam: isSpam, score, threshold, rules, error }) {
  if (error) return unanswered("Spam", error);
  const [tone, icon] = isSpam ? ["bad", "shield-alert"] : ["good", "shield-check"];
  const limit = threshold === null ? "" : `, spam from ${threshold}`;
  const names = rules.map((each) => `${each.name} (${each.score})`).join(", ");
  const about = [`score ${score}${limit}`, names].filter(Boolean);
  return { name: "Spam", text: isSpam ? "spam" : "no spam", tone, icon, about };
}

function virusOf({ is_infected: isInfected, name: virus, error }) {
  if (error) return unanswered("Virus", error);
  const [tone, icon] = isInfected ? ["bad", "shield-alert"] : ["good", "shield-check"];
  const about = virus ? [virus] : [];
  return { name: "Virus", text: isInfected ? "infected" : "clean", tone, icon, about };
}

const unanswered = (name, error) => ({
  name,
  text: "no answer",
  tone: "warn",
  icon: "clock",
  about: [error],
});

/** Largest image, and all of them, that the HTML of a message shows, in bytes. */
const LARGEST_IMAGE = 1000000;
const MOST_IMAGES = 20;

/**
 * The images that the HTML of a message names by `cid:`, as `[{name, type, data}]` in base64. They
 * are fetched with the viewer's key: the frame of the mail may fetch nothing.
 */
export async function imagesOf(message, signal) {
  const named = message.attachments
    .filter(
      ({ content_id: id, type, size }) =>
        id &&
        /^image\/(png|jpeg|gif|webp)$/.test(type) &&
        size <= LARGEST_IMAGE &&
        message.content.html?.includes(`cid:${id}`),
    )
    .slice(0, MOST_IMAGES);
  return Promise.all(named.map((each) => imageOf(message.id, each, signal)));
}

async function imageOf(id, { number, content_id: name, type }, signal) {
  const path = `${RECEIVED}/${encodeURIComponent(id)}/attachments/${number}`;
  const data = new Uint8Array(await get(path, undefined, { signal, as: "arrayBuffer" }));
  let text = "";
  for (let start = 0; start < data.length; start += 8192)
    text += String.fromCharCode(...data.subarray(start, start + 8192));
  return { name, type, data: btoa(text) };
}

/** The address of an attachment's file. The API names it with the host that the service has. */
export function fileAddress(url) {
  const { pathname, search } = new URL(url);
  const path = pathname.slice(pathname.indexOf("/api/v1/") + 1);
  return address(path) + search;
}
