// What the console knows about the audit log: a line as a sentence, what each resource is called,
// and where its page is.
import { label } from "./format.js";
import { subaccountName } from "./service.js";

export const AUDIT_LOG = "api/v1/audit-log";
export const AUDIT_GRANT = "audit_log/view";

/** Types of actors: `[type, several of them]`. */
export const ACTORS = [
  ["user", "Users"],
  ["key", "API keys"],
  ["operator", "Operator"],
];

/**
 * First part of the path → what one is called, what many are called, and the address of its page.
 * @type {Record<string, [string, string, ((id: string) => string[])?]>}
 */
const RESOURCES = {
  account: ["the account", "Account", () => ["settings", "account"]],
  users: ["user", "Users", (id) => ["users", id]],
  "api-keys": ["API key", "API keys", () => ["settings", "keys"]],
  templates: ["template", "Templates", (id) => ["templates", "edit", id]],
  snippets: ["snippet", "Snippets", (id) => ["templates", "snippets", id]],
  "ab-test": ["A/B test", "A/B tests", (id) => ["templates", "ab-tests", id]],
  "recipient-lists": ["recipient list", "Recipient lists", (id) => ["audience", "lists", id]],
  "recipient-validation": [
    "recipient list",
    "Recipient validation",
    (id) => ["audience", "lists", id],
  ],
  "suppression-list": [
    "suppression",
    "Suppression list",
    (id) => ["audience", "suppressions", ...(id ? [id] : [])],
  ],
  "sending-domains": ["sending domain", "Sending domains", (id) => ["domains", "sending", id]],
  "tracking-domains": ["tracking domain", "Tracking domains", (id) => ["domains", "tracking", id]],
  "inbound-domains": ["inbound domain", "Inbound domains", (id) => ["domains", "inbound", id]],
  "inbound-messages": ["received message", "Received mail", (id) => ["received", id]],
  "relay-webhooks": ["relay webhook", "Relay webhooks", (id) => ["webhooks", "relay", id]],
  webhooks: ["webhook", "Webhooks", (id) => ["webhooks", id]],
  transmissions: ["transmission", "Transmissions", (id) => ["send", id]],
  subaccounts: ["subaccount", "Subaccounts", () => ["settings", "subaccounts"]],
  "ip-pools": ["IP pool", "IP pools", () => ["settings", "pools"]],
  "sending-ips": ["sending IP", "Sending IPs", () => ["settings", "pools"]],
  "inline-seeds": ["inline seeding", "Inline seeding", () => ["settings", "seeding"]],
  "data-privacy": ["data privacy request", "Data privacy"],
  ingest: ["events of other senders", "Uploaded events"],
  "sign-in": ["", "Sign-in"],
  "sign-out": ["", "Sign-out"],
  sessions: ["session", "Sessions"],
  invitations: ["invitation", "Invitations"],
  "password-reset": ["password reset", "Password resets"],
  "second-factor": ["", "Second factors"],
  me: ["", "Own profile"],
};
/** What the log has in place of secrets and of what erasing a user must erase. */
const HIDDEN = "(hidden)";
/** Resources whose ids say nothing to people: the line's changed fields may have a name. */
const OPAQUE = ["users", "api-keys", "webhooks", "relay-webhooks", "subaccounts"];

/** `[resource, name]`, by name. */
export const RESOURCE_NAMES = Object.entries(RESOURCES)
  .map(([resource, [, many]]) => [resource, many])
  .sort(([, a], [, b]) => a.localeCompare(b));

/** What one is called, such as `template`. */
export const resourceNoun = (resource) => RESOURCES[resource]?.[0] || label(resource).toLowerCase();
export const resourceName = (resource) => RESOURCES[resource]?.[1] ?? label(resource);

/** Verbs of changes: `[done, tried]`. */
const VERBS = {
  POST: ["created", "create"],
  PUT: ["changed", "change"],
  DELETE: ["deleted", "delete"],
};

/**
 * Method and route → `[done, tried]`, where a verb and the resource's name would not say it. `$` is
 * the name of what it is about.
 * @type {Array<[RegExp, string, string]>}
 */
const DEEDS = [
  [/^POST .*\/sign-in(\/|$)/, "signed in", "sign in"],
  [/^GET .*\/sign-in\/providers\//, "signed in", "sign in"],
  [/^POST .*\/sign-out$/, "signed out", "sign out"],
  [/^POST .*\/invitations\//, "accepted the invitation", "accept the invitation"],
  [/^POST .*\/password-reset$/, "asked for a new password", "ask for a new password"],
  [/^POST .*\/password-reset\//, "set a new password", "set a new password"],
  [/^PUT .*\/me$/, "changed the own profile", "change the own profile"],
  [/^DELETE .*\/second-factor\/passkeys\//, "removed a passkey", "remove a passkey"],
  [
    /^POST .*\/second-factor\/recovery-codes$/,
    "made new recovery codes",
    "make new recovery codes",
  ],
  [
    /^DELETE .*\/users\/[^/]+\/second-factor$/,
    "reset the second factor of $",
    "reset the second factor of $",
  ],
  [/^POST .*\/second-factor$/, "began to set up a second factor", "set up a second factor"],
  [/^PUT .*\/second-factor$/, "set up a second factor", "set up a second factor"],
  [/^DELETE .*\/second-factor$/, "removed the second factor", "remove the second factor"],
  [/^POST .*\/users$/, "invited $", "invite $"],
  [/^POST .*\/users\/[^/]+\/invitation$/, "invited $ again", "invite $ again"],
  [/^DELETE .*\/users\/[^/]+\/sessions\//, "ended a session of $", "end a session of $"],
  [/^DELETE .*\/users\/[^/]+\/sessions$/, "ended all sessions of $", "end all sessions of $"],
  [/^DELETE .*\/sessions\//, "ended an own session", "end an own session"],
  [/^DELETE .*\/users\/[^/]+$/, "removed $", "remove $"],
  [/^POST .*\/transmissions$/, "sent $", "send"],
  [/^DELETE .*\/transmissions/, "cancelled $", "cancel $"],
  [/^POST .*\/verify$/, "verified $", "verify $"],
  [/^POST .*\/cancel$/, "cancelled $", "cancel $"],
  [/^POST .*\/validate$/, "tested $", "test $"],
  [/^POST .*\/signing-secret$/, "made a signing secret of $", "make a signing secret of $"],
  [/^DELETE .*\/signing-secret$/, "stopped signing of $", "stop signing of $"],
  [/^POST .*\/dkim-keys$/, "added a DKIM key to $", "add a DKIM key to $"],
  [/^PUT .*\/dkim-keys\//, "changed a DKIM key of $", "change a DKIM key of $"],
  [/^DELETE .*\/dkim-keys\//, "deleted a DKIM key of $", "delete a DKIM key of $"],
  [/^PUT .*\/routes$/, "changed the routes of $", "change the routes of $"],
  [/^POST .*\/recipient-validation\//, "validated $", "validate $"],
  [/^PUT .*\/suppression-list/, "suppressed $", "suppress $"],
  [/^DELETE .*\/suppression-list/, "removed $ from the suppression list", "remove $"],
  [/^POST .*\/rtbf-request$/, "asked to erase $", "ask to erase $"],
  [/^POST .*\/opt-out-request$/, "asked to stop mail to $", "ask to stop mail to $"],
  [/^POST .*\/ingest\//, "uploaded events of other senders", "upload events of other senders"],
  [/^(POST|PUT) .*\/inline-seeds\//, "changed inline seeding", "change inline seeding"],
];

export const isRefused = (line) => line.outcome === "refused";

/** Who did it, in few words; `people` has the names of users by their ids. */
export function actorName({ type, id, label: text }, people = {}) {
  if (type === "key") return `The key ${text || id}`;
  if (type === "operator") return "The operator";
  return people[id] || text || id || "Somebody";
}

/** The same in the middle of a sentence. */
export const actorInSentence = (actor) =>
  actorName(actor).replace(/^(The|Somebody)\b/, (word) => word.toLowerCase());

/**
 * The name of what a line is about. `people` has the names of users by their ids, as far as the
 * viewer may see them.
 */
export function subjectName(line, people = {}) {
  const { resource, resource_id: id } = line;
  if (!id) return "";
  if (resource === "users" && people[id]) return people[id];
  if (!OPAQUE.includes(resource)) return id;
  for (const field of ["name", "label", "email"]) {
    const { from, to } = line.changes?.[field] ?? {};
    const name = [to, from].find((each) => each && each !== HIDDEN);
    if (name) return name;
  }
  return resource === "subaccounts" ? subaccountName(Number(id)) : id;
}

/** What was done, as the rest of a sentence that begins with who did it. */
export function deedOf(line, people) {
  const subject = [RESOURCES[line.resource]?.[0] ?? label(line.resource).toLowerCase()]
    .concat(line.resource === "account" ? [] : subjectName(line, people))
    .filter(Boolean)
    .join(" ");
  // Accepting an invitation has two lines: the change of the user, and the sign-in
  const path = line.resource === "sign-in" ? "/sign-in" : line.path;
  const route = `${line.action} ${path}`;
  // What the operator does is no deed of a route, whatever way led to it
  const deeds = line.actor.type === "operator" ? [] : DEEDS;
  const [, done, tried] = deeds.find(([pattern]) => pattern.test(route)) ?? [];
  const verb = VERBS[line.action];
  if (isRefused(line)) {
    const words = tried ?? (verb ? `${verb[1]} $` : `${line.action} $`);
    return `tried to ${filled(words, subject)}`;
  }
  return filled(done ?? (verb ? `${verb[0]} $` : `ran ${line.action} on $`), subject);
}

const filled = (words, subject) => words.replace("$", () => subject).trim();

/** The sentence of a line. */
export const sentenceOf = (line, people) =>
  `${actorName(line.actor, people)} ${deedOf(line, people)}`;

/** The address of the page of what a line is about, or null; what was deleted has none. */
export function pageOf(line) {
  const page = RESOURCES[line.resource]?.[2];
  const gone = line.action === "DELETE" && /^[^{]*\{[^}]*\}$/.test(line.path) && !isRefused(line);
  return page && line.resource_id && !gone ? page(line.resource_id) : null;
}

const ICONS = { POST: "plus", PUT: "pencil", DELETE: "trash-2" };

/** How a line looks in a list: `[tone, icon]`. */
export function looksOf(line) {
  if (isRefused(line)) return ["bad", "ban"];
  if (line.actor.type === "operator") return ["plum", "terminal"];
  if (line.resource === "sign-in") return ["info", "key"];
  if (/\/(sign-in|sign-out|sessions|second-factor)(\/|$)/.test(line.path)) return ["info", "key"];
  return [line.action === "DELETE" ? "warn" : "", ICONS[line.action] ?? "circle"];
}

/** How a change ended: `[outcome, text]`. */
export const OUTCOMES = [
  ["", "Done and refused"],
  ["done", "Done"],
  ["refused", "Refused"],
];

const DAY = 86400000;
/** The choice of days by hand. */
export const OF_TIME = "free";
/** Before the first line of any service. */
const EVER = "2020-01-01T00:00:00Z";

/** Times to choose from: `[days, text]`. One resource has few lines: all of them are shown. */
export const spansFor = (id) => [
  ["1", "Last day"],
  ["7", "Last 7 days"],
  ["", id ? "Any time" : "Last 30 days"],
  ["400", "Last 400 days"],
  [OF_TIME, "From and to"],
];

/**
 * The query of the log for the filters in the address.
 * @param {Record<string, string>} query
 */
export function searchOf({ days, from, to, actor, resource, resource_id: id, outcome }) {
  return {
    ...(days === OF_TIME
      ? { from: startOf(from), to: endOf(to) }
      : days
        ? { from: new Date(Date.now() - Number(days) * DAY).toISOString() }
        : id
          ? { from: EVER }
          : {}),
    actor,
    resource,
    resource_id: id,
    outcome,
  };
}

const startOf = (day) => (day ? `${day}T00:00:00Z` : undefined);
/** The end of a day that counts in full. */
const endOf = (day) => (day ? `${day}T23:59:59.999Z` : undefined);
