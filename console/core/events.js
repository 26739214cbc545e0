// What each type of event is called and how it looks. A tone never stands alone: each has an icon.
const TYPES = {
  injection: ["Sent", "", "send"],
  delivery: ["Delivered", "good", "check"],
  delay: ["Delayed", "warn", "clock"],
  bounce: ["Bounced", "bad", "mail-x"],
  out_of_band: ["Bounced later", "bad", "mail-x"],
  spam_complaint: ["Complaint", "plum", "flag"],
  policy_rejection: ["Rejected by policy", "bad", "ban"],
  generation_failure: ["Generation failed", "bad", "circle-x"],
  generation_rejection: ["Not generated", "bad", "ban"],
  open: ["Opened", "info", "mail-open"],
  initial_open: ["First opened", "info", "mail-open"],
  click: ["Clicked", "accent", "mouse-pointer-click"],
  amp_open: ["Opened (AMP)", "info", "mail-open"],
  amp_initial_open: ["First opened (AMP)", "info", "mail-open"],
  amp_click: ["Clicked (AMP)", "accent", "mouse-pointer-click"],
  list_unsubscribe: ["Unsubscribed", "plum", "user-minus"],
  link_unsubscribe: ["Unsubscribed by link", "plum", "user-minus"],
  sms_status: ["SMS status", "", "smartphone"],
  relay_injection: ["Received", "", "inbox"],
  relay_rejection: ["Refused to receive", "bad", "ban"],
  relay_delivery: ["Relayed", "good", "webhook"],
  relay_tempfail: ["Relay delayed", "warn", "clock"],
  relay_permfail: ["Not relayed", "bad", "circle-x"],
};

/** Events after which the address or the content should be looked at. */
export const TROUBLE = [
  "bounce",
  "out_of_band",
  "spam_complaint",
  "policy_rejection",
  "generation_failure",
  "generation_rejection",
];

/** The types of events that this service has: of SMS it shows only what others upload. */
export const EVENT_TYPES = Object.keys(TYPES).filter((type) => type !== "sms_status");

export function eventType(type) {
  const [label, tone, icon] = TYPES[type] ?? [type, "", "circle"];
  return { label, tone, icon };
}

const CLASSES = {
  1: "undetermined",
  10: "invalid recipient",
  20: "soft bounce",
  21: "DNS failure",
  22: "mailbox full",
  23: "too large",
  24: "timeout",
  25: "stopped by a rule of the sender or service",
  30: "no recipient",
  40: "generic bounce",
  50: "mail block",
  51: "spam block",
  52: "spam content",
  53: "prohibited attachment",
  54: "relaying denied",
  60: "auto-reply",
  70: "transient failure",
  80: "subscribe",
  90: "unsubscribe",
  100: "challenge-response",
};

/** Say in one line what an event tells besides its type. */
export function eventDetail(event) {
  if (event.reason ?? event.raw_reason) return event.reason ?? event.raw_reason;
  if (event.target_link_url)
    return event.target_link_name && event.target_link_name !== event.target_link_url
      ? `${event.target_link_name} · ${event.target_link_url}`
      : event.target_link_url;
  if (event.user_agent_parsed?.agent_family)
    return [event.user_agent_parsed.agent_family, event.user_agent_parsed.os_family]
      .filter((each) => each && each !== "Other")
      .join(" on ");
  if (event.fbtype) return `${event.fbtype} report by ${event.report_by ?? "the mailbox provider"}`;
  return event.subject ?? "";
}

export const bounceClass = (code) => CLASSES[code] ?? `class ${code}`;
