// What the console knows about webhooks: the fields of their form, and the requests made of them.
import { ApiError } from "./api.js";
import { inWords } from "./messages.js";
import { subaccountName } from "./service.js";

export const WEBHOOKS = "api/v1/webhooks";
export const webhookPath = (id) => `${WEBHOOKS}/${encodeURIComponent(id)}`;

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

/** The body of POST or PUT; throws FieldError. */
export function bodyOf(fields, webhook) {
  const body = {
    name: fields.name,
    target: fields.target,
    events: [...fields.events],
    active: fields.active,
    auth_type: fields.auth_type,
  };
  if (fields.auth_type === "basic")
    body.auth_credentials = { username: fields.username, password: fields.password };
  if (fields.auth_type === "oauth2")
    body.auth_request_details = { url: fields.url, body: parsed(fields.body) };
  const headers = headersOf(fields.custom_headers);
  if (webhook || Object.keys(headers).length) body.custom_headers = headers;
  if (webhook?.auth_token || fields.auth_token) body.auth_token = fields.auth_token;
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
