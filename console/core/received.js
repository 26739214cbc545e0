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
  infected: ["bad", "shield-alert"],
  clean: ["good", "shield-check"],
  softfail: ["warn", "alert-triangle"],
  temperror: ["warn", "clock"],
};
const NAMES = { spf: "SPF", dkim: "DKIM", dmarc: "DMARC", arc: "ARC" };

/** Verdicts as `[{name, text, tone, icon, about}, ...]`; those without an answer are left out. */
export function verdictsOf(verdicts) {
  return Object.entries(verdicts ?? {})
    .map(([name, verdict]) => verdictOf(name, verdict))
    .filter(Boolean);
}

function verdictOf(name, verdict) {
  const title = NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
  if (verdict === null || verdict === undefined) return null;
  if (typeof verdict !== "object") return badge(title, String(verdict), []);
  if (Array.isArray(verdict)) return listOf(title, verdict);
  const { result, status, score, signatures, ...rest } = verdict;
  const text = result ?? status ?? (score === undefined ? "none" : `score ${score}`);
  return badge(title, String(text), [
    ...factsOf({ ...(score === undefined ? {} : { score }), ...rest }),
    ...(signatures ?? []).map((each) => factsOf(each).join(", ")),
  ]);
}

function listOf(title, verdicts) {
  if (!verdicts.length) return badge(title, "none", []);
  const results = verdicts.map((each) => each.result ?? "none");
  const best = results.includes("pass") ? "pass" : results[0];
  return badge(
    title,
    best,
    verdicts.map((each) => factsOf(each).join(", ")),
  );
}

function badge(name, text, about) {
  const [tone, icon] = TONES[text] ?? ["", "circle"];
  return { name, text, tone, icon, about };
}

const factsOf = (fields) =>
  Object.entries(fields)
    .filter(([, value]) => value !== null && value !== "" && value !== false)
    .map(([name, value]) => {
      const text = typeof value === "object" ? JSON.stringify(value) : String(value);
      return `${name.replaceAll("_", " ")}: ${text}`;
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
