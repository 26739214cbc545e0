// Where a text leads that is no page: to the events and the mail of a recipient, a message, a
// transmission or a subject.

const LONGEST_BACK = "240"; // hours, as long as events are kept

/**
 * `[{page, label, icon, path, query, grant?}]` for what was typed; `page` is the one that it leads
 * to.
 */
export function searches(typed) {
  const text = typed.trim();
  if (text.length < 2) return [];
  if (text.includes("@")) return ofAddress(text);
  return /^(?=.*\d)[\w-]{10,}$/.test(text) ? ofId(text) : ofWords(text);
}

const events = (label, filter) => ({
  page: "activity",
  label,
  icon: "activity",
  path: ["activity"],
  query: { ...filter, hours: LONGEST_BACK },
});
const mail = (label, q) => ({
  page: "mailbox",
  label,
  icon: "inbox",
  path: ["mailbox"],
  query: { q },
});

const ofAddress = (address) => [
  events(`Events of ${address}`, { recipients: address }),
  mail(`Mail to ${address}`, `to:${address}`),
  {
    page: "audience",
    label: `Is ${address} suppressed?`,
    icon: "ban",
    grant: "suppression_lists/manage",
    path: ["audience", "suppressions", address],
  },
];

const ofId = (id) => [
  { page: "send", label: `Transmission ${id}`, icon: "send", path: ["send", id] },
  events(`Events of message ${id}`, { messages: id }),
  events(`Events of transmission ${id}`, { transmissions: id }),
];

// A comma would separate two subjects
const ofWords = (words) => [
  events(`Events with “${words}” in the subject`, { subjects: words.replaceAll(",", " ") }),
  mail(`Mail with “${words}”`, words),
];
