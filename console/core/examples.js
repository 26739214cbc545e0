// A request of the API as a program in several languages.
import { address, isLocal } from "./api.js";
import { subaccount } from "./session.js";

/**
 * Language → its name, and what writes a program in it.
 * @type {Record<string, [string, (call: any) => string]>}
 */
const WRITERS = { curl: ["curl", curlOf], python: ["Python", pythonOf], node: ["Node", nodeOf] };

/** `[[id, name], ...]`, in the order in which they are shown. */
export const LANGUAGES = Object.entries(WRITERS).map(([id, [name]]) => [id, name]);

export const isLanguage = (id) => id in WRITERS;

/**
 * A request as a program.
 * @param {string} language the id of a language
 * @param {object} call
 * @param {string} call.method
 * @param {string} call.path
 * @param {Api.Query} [call.query]
 * @param {Record<string, string>} [call.headers]
 * @param {unknown} [call.body] a text as it is, or a value that becomes JSON; none if it is empty
 * @param {string} [call.mediaType] that of the body
 * @param {boolean} [call.isPublic] whether it needs no key
 * @param {string} [call.key] the key itself. Without it a variable of the environment stands there,
 *   so that the program can be shared
 */
export function exampleOf(language, call) {
  const { method, path, query, body, mediaType = "application/json", isPublic, key } = call;
  const [, write] = WRITERS[language];
  return write({
    method,
    url: address(path, query),
    key: isPublic || isLocal(path) ? null : (key ?? VARIABLE),
    headers: { ...call.headers, ...(body ? { "Content-Type": mediaType } : {}) },
    text: typeof body === "string" ? body : JSON.stringify(body, null, 2),
    value: typeof body === "string" ? parsed(body) : body,
  });
}

/**
 * The header of a request for the subaccount that this tab acts for.
 * @returns {Record<string, string>}
 */
export const actingFor = () =>
  subaccount.value === "" ? {} : { "X-SVC-SUBACCOUNT": subaccount.value };

const VARIABLE = Symbol("the key in a variable");
const literal = (value) => JSON.stringify(value);
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOf({ method, url, key, headers, text }) {
  const lines = [`curl -s${method === "GET" ? "" : ` -X ${method}`} ${shell(url)}`];
  if (key === VARIABLE) lines.push('-H "Authorization: $API_KEY"');
  else if (key) lines.push(`-H ${shell(`Authorization: ${key}`)}`);
  for (const [name, value] of Object.entries(headers)) {
    lines.push(`-H ${shell(`${name}: ${value}`)}`);
  }
  if (text) lines.push(`-d ${shell(text)}`);
  return lines.join(" \\\n  ");
}

function pythonOf({ method, url, key, headers, text, value }) {
  const fields = fieldsOf('"Authorization"', key, 'os.environ["API_KEY"]', headers);
  const data =
    value === undefined
      ? `${literal(text)}.encode()`
      : `json.dumps(${pythonLiteral(value, "    ")}).encode()`;
  return [
    ...(text && value !== undefined ? ["import json"] : []),
    ...(key === VARIABLE ? ["import os"] : []),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${literal(url)},`,
    `    method="${method}",`,
    ...(fields.length
      ? ["    headers={", ...fields.map((each) => `        ${each},`), "    },"]
      : []),
    ...(text ? [`    data=${data},`] : []),
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())",
  ].join("\n");
}

function nodeOf({ method, url, key, headers, text, value }) {
  const fields = fieldsOf("Authorization", key, "process.env.API_KEY", headers);
  const body =
    value === undefined
      ? literal(text)
      : `JSON.stringify(${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")})`;
  return [
    `const response = await fetch(${literal(url)}, {`,
    `  method: "${method}",`,
    ...(fields.length ? ["  headers: {", ...fields.map((each) => `    ${each},`), "  },"] : []),
    ...(text ? [`  body: ${body},`] : []),
    "});",
    "console.log(response.status, await response.text());",
  ].join("\n");
}

/** The headers as fields of an object, the key first: what it is called, and how it is read. */
function fieldsOf(name, key, variable, headers) {
  const own = key ? [`${name}: ${key === VARIABLE ? variable : literal(key)}`] : [];
  return [...own, ...Object.entries(headers).map((each) => each.map(literal).join(": "))];
}

/** A value as a literal of Python whose further lines begin with `indent`. */
function pythonLiteral(value, indent) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return literal(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((each) => pythonLiteral(each, inner))
    : Object.entries(value).map(
        ([name, each]) => `${literal(name)}: ${pythonLiteral(each, inner)}`,
      );
  if (!items.length) return open + close;
  return `${open}\n${items.map((each) => `${inner}${each},\n`).join("")}${indent}${close}`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
