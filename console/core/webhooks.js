// What the console knows about webhooks: the fields of their form, and the requests made of them.
import { ApiError } from "./api.js";
import { inWords } from "./messages.js";
import { subaccountName } from "./service.js";

export const WEBHOOKS = "api/v1/webhooks";
export const webhookPath = (id) => `${WEBHOOKS}/${encodeURIComponent(id)}`;

/** What differs between webhooks and relay webhooks; `home` begins the addresses of their pages. */
export const KINDS = {
  events: {
    path: WEBHOOKS,
    home: ["webhooks"],
    resource: "webhooks",
    view: "webhooks/view",
    modify: "webhooks/modify",
    name: "webhook",
    tab: "Events",
    about: "Every event, posted to a URL of yours as it happens.",
    unit: "event",
    batches: "Batches of the last day",
    none: "No batch in the last day",
    noneYet:
      "A new webhook starts a minute after it was made, and a batch follows each group of events.",
    loss: "It gets no more events. Batches that are queued are still posted.",
  },
  relay: {
    path: "api/v1/relay-webhooks",
    home: ["webhooks", "relay"],
    resource: "relay-webhooks",
    view: "relay_webhooks/view",
    modify: "relay_webhooks/modify",
    name: "relay webhook",
    tab: "Received mail",
    about: "Every message to an inbound domain, posted to a URL of yours as it comes in.",
    unit: "message",
    batches: "Messages of the last ten days",
    none: "No message in the last ten days",
    noneYet: "A message that comes in is posted at once, in a post of its own.",
    loss: "Mail to its domain is stored from now on. Messages that are queued are still posted.",
  },
};

export const AUTH = [
  ["none", "None"],
  ["basic", "User name and password"],
  ["oauth2", "OAuth 2.0"],
];
export const MOST_HEADERS = 5;
export const MOST_EXCEPTIONS = 10;
/** The source of a webhook that gets the events of the account and of all subaccounts. */
export const EVERYBODY = -1;

/** Whose events a webhook gets, in words. */
export function sourceName(id) {
  if (id === EVERYBODY) return "Account and subaccounts";
  return id === 0 ? "The account itself" : subaccountName(id);
}

/** The fields of the form of `webhook`, or of a new one. Names are those of the API's errors. */
export const fieldsOf = (webhook) => ({
  name: webhook?.name ?? "",
  target: webhook?.target ?? "",
  events: new Set(webhook?.events ?? []),
  active: webhook?.active ?? true,
  auth_type: webhook?.auth_type ?? "none",
  username: webhook?.auth_credentials?.username ?? "",
  password: webhook?.auth_credentials?.password ?? "",
  url: webhook?.auth_request_details?.url ?? "",
  body: JSON.stringify(webhook?.auth_request_details?.body ?? {}, null, 2),
  auth_token: webhook?.auth_token ?? "",
  custom_headers: Object.entries(webhook?.custom_headers ?? {}),
  subaccount_id: String(webhook?.subaccount_id ?? EVERYBODY),
  exception_subaccounts: (webhook?.exception_subaccounts ?? []).join(", "),
});

/** The ids in a text. What is no number stays a text: the API says what is wrong with it. */
export const idsOf = (text) =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((each) => (/^\d+$/.test(each) ? Number(each) : each));

/** How many bytes the API counts of custom headers. */
export const sizeOf = (headers) => new TextEncoder().encode(headers.flat().join("")).length;

/** What the bodies of both kinds of webhooks have; throws FieldError. */
function endpointOf(fields, webhook) {
  const headers = headersOf(fields.custom_headers);
  return {
    ...(fields.name ? { name: fields.name } : {}),
    target: fields.target,
    auth_type: fields.auth_type,
    ...(fields.auth_type === "oauth2"
      ? { auth_request_details: { url: fields.url, body: parsed(fields.body) } }
      : {}),
    ...(webhook || Object.keys(headers).length ? { custom_headers: headers } : {}),
    ...(webhook?.auth_token || fields.auth_token ? { auth_token: fields.auth_token } : {}),
  };
}

/** The body of POST or PUT of a relay webhook; throws FieldError. */
export const relayBodyOf = (fields, webhook) => ({
  ...endpointOf(fields, webhook),
  match: { protocol: "SMTP", domain: fields.domain },
});

/** The body of POST or PUT; throws FieldError. */
export function bodyOf(fields, webhook) {
  /** @type {Record<string, any>} */
  const body = {
    ...endpointOf(fields, webhook),
    events: [...fields.events],
    active: fields.active,
  };
  if (fields.auth_type === "basic")
    body.auth_credentials = { username: fields.username, password: fields.password };
  const source = Number(fields.subaccount_id);
  if (webhook && source !== webhook.subaccount_id) body.subaccount_id = source;
  const exceptions = idsOf(fields.exception_subaccounts);
  if (source === EVERYBODY && (webhook || exceptions.length))
    body.exception_subaccounts = exceptions;
  return body;
}

/** What is wrong with one field, before the API is asked. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** What is wrong with which field: an object of texts, empty if the error concerns none. */
export function faultsOf(error) {
  if (error instanceof FieldError) return { [error.field]: error.message };
  if (!(error instanceof ApiError)) return {};
  /** @type {Record<string, string>} */
  const faults = {};
  for (const each of error.errors) {
    if (each.param)
      faults[each.param] ??= inWords({ message: each.message.replace(`${each.param}: `, "") });
    else if (each.response) faults[/tokens/.test(each.message) ? "url" : "target"] = failed(each);
  }
  // The API names the object when it is absent, and else the field inside
  if (faults.auth_credentials) faults.username = faults.auth_credentials;
  if (faults.auth_request_details) faults.url = faults.auth_request_details;
  return faults;
}

/** The test that the target, or the token server, did not pass. */
function failed({ message, description, response }) {
  const answer = response.status ? `it answered ${response.status}` : "";
  return `${message}: ${[description, answer].filter(Boolean).join("; ") || "it did not answer"}`;
}

function headersOf(rows) {
  /** @type {Record<string, string>} */
  const headers = {};
  for (const [name, value] of rows.filter((each) => each.some((text) => text.trim()))) {
    if (!name.trim()) throw new FieldError("custom_headers", "Each header needs a name.");
    if (name.trim() in headers)
      throw new FieldError("custom_headers", `${name.trim()} is there twice.`);
    headers[name.trim()] = value;
  }
  return headers;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError("body", `This is no JSON: ${error.message}`);
  }
}
