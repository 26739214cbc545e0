// What the forms of the Send page hold, as the body of a transmission.

import { may } from "../core/service.js";
import { subaccount } from "../core/session.js";
import { fileFields, fileProblems } from "./send-files.js";

const KINDS = [
  ["inline", "Inline"],
  ["template", "Template", "templates/view"],
  ["ab_test", "A/B test", "ab-testing/manage"],
];

/** The kinds of content that the key may choose, and the one that the address of the view names. */
export const kinds = () => KINDS.filter(([, , grant]) => may(grant));
export const kindOf = ({ kind }) => (kinds().some(([id]) => id === kind) ? kind : "inline");

/**
 * Whether there may be recipient lists, which belong to the account, and whether one is to be
 * chosen.
 */
export const mayUseLists = () =>
  may("recipient_lists/manage") && ["", "0"].includes(subaccount.value);
export const isToList = (query) =>
  mayUseLists() && takesMany(query) && Boolean(query.to === "list" || query.list);
/** Whether one transmission of this kind may have several recipients. */
export const takesMany = (query) => kindOf(query) !== "ab_test";

export const emptyContent = {
  from: "",
  name: "",
  replyTo: "",
  subject: "",
  html: "",
  text: "",
  draft: false,
  files: [],
};
export const emptyOptions = {
  campaign: "",
  description: "",
  data: "",
  metadata: "",
  start: "",
  pool: "",
  transactional: false,
  opens: true,
  clicks: true,
};

/** Return the body, as far as it is complete, and what is missing or wrong in it. */
export function bodyOf({ query, content, options, read }) {
  const problems = [];
  const need = (value, text) => {
    if (!value) problems.push(text);
  };
  const body = {
    content: contentOf(query, content, need, problems),
    recipients: isToList(query) ? { list_id: query.list ?? "" } : (read?.recipients ?? []),
  };
  if (isToList(query)) need(query.list, "Choose a recipient list.");
  else
    need(
      body.recipients.length,
      read ? "Add at least one recipient." : "The recipients are being read.",
    );
  need(
    takesMany(query) || body.recipients.length < 2,
    "An A/B test takes one recipient in each transmission.",
  );
  if (options.campaign.trim()) body.campaign_id = options.campaign.trim();
  if (options.description.trim()) body.description = options.description.trim();
  for (const [field, text, name] of [
    ["substitution_data", options.data, "The test data"],
    ["metadata", options.metadata, "The metadata"],
  ]) {
    if (!text.trim()) continue;
    const value = objectOf(text);
    if (value) body[field] = value;
    else problems.push(`${name} must be a JSON object.`);
  }
  const flags = optionsOf(options);
  if (Object.keys(flags).length) body.options = flags;
  return { body, problems };
}

function contentOf(query, content, need, problems) {
  if (kindOf(query) === "template") {
    need(query.template, "Choose a template.");
    return {
      template_id: query.template ?? "",
      ...(content.draft ? { use_draft_template: true } : {}),
    };
  }
  if (kindOf(query) === "ab_test") {
    need(query.ab_test, "Choose an A/B test.");
    return { ab_test_id: query.ab_test ?? "" };
  }
  const { from, name, replyTo, subject, html, text, files } = content;
  need(from.trim(), "Say who it is from.");
  need(subject.trim(), "Write a subject.");
  need(html || text, "Write a text or HTML.");
  const result = {
    from: name.trim() ? { email: from.trim(), name: name.trim() } : from.trim(),
    subject,
  };
  if (replyTo.trim()) result.reply_to = replyTo.trim();
  if (html) result.html = html;
  if (text) result.text = text;
  problems.push(...fileProblems(files));
  return { ...result, ...fileFields(files) };
}

/** Only what differs from the defaults of the API. */
function optionsOf({ opens, clicks, transactional, pool, start }) {
  const result = {};
  if (!opens) result.open_tracking = false;
  if (!clicks) result.click_tracking = false;
  if (transactional) result.transactional = true;
  if (pool.trim()) result.ip_pool = pool.trim();
  if (start) result.start_time = new Date(start).toISOString();
  return result;
}

function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
