// A request of the API as a program in several languages. The key is a variable of the environment,
// so that an example can be shared.
import { address } from "./api.js";

/** Language → its name, the file that a program is kept in, and what writes it. */
export const LANGUAGES = {
  curl: ["curl", curlOf],
  python: ["Python", pythonOf],
  node: ["Node.js", nodeOf],
};

/**
 * `call`: `{method, path, query, headers, body, isPublic}`; `body` is a text, and JSON unless
 * `mediaType` says so.
 */
export const exampleOf = (language, call) => LANGUAGES[language][1](call);

function curlOf({ method, path, query, headers, body, mediaType, isPublic }) {
  const lines = [
    `curl -s${method === "GET" ? "" : ` -X ${method}`} ${shell(address(path, query))}`,
  ];
  if (!isPublic) lines.push('-H "Authorization: $API_KEY"');
  for (const [name, value] of Object.entries(headers))
    lines.push(`-H ${shell(`${name}: ${value}`)}`);
  if (body) lines.push(`-H ${shell(`Content-Type: ${mediaType}`)}`, `--data-binary ${shell(body)}`);
  return lines.join(" \\\n  ");
}

function pythonOf({ method, path, query, headers, body, mediaType, isPublic }) {
  const fields = Object.entries({ ...headers, ...(body && { "Content-Type": mediaType }) }).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  if (!isPublic) fields.unshift('        "Authorization": os.environ["API_KEY"],');
  const value = body ? parsed(body) : undefined;
  const data = body
    ? [
        `    data=${value === undefined ? `${JSON.stringify(body)}.encode()` : `json.dumps(${python(value, 1)}).encode()`},`,
      ]
    : [];
  return [
    ...(value === undefined ? [] : ["import json"]),
    ...(isPublic ? [] : ["import os"]),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(address(path, query))},`,
    `    method="${method}",`,
    ...(fields.length ? ["    headers={", ...fields, "    },"] : []),
    ...data,
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())",
  ].join("\n");
}

function nodeOf({ method, path, query, headers, body, mediaType, isPublic }) {
  const fields = Object.entries({ ...headers, ...(body && { "Content-Type": mediaType }) }).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  if (!isPublic) fields.unshift("    Authorization: process.env.API_KEY,");
  const value = body ? parsed(body) : undefined;
  const data = body
    ? [
        `  body: ${value === undefined ? JSON.stringify(body) : `JSON.stringify(${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")})`},`,
      ]
    : [];
  return [
    `const response = await fetch(${JSON.stringify(address(path, query))}, {`,
    `  method: "${method}",`,
    ...(fields.length ? ["  headers: {", ...fields, "  },"] : []),
    ...data,
    "});",
    "console.log(response.status, await response.text());",
  ].join("\n");
}

/** A value as a literal of Python. */
function python(value, depth) {
  const indent = "    ".repeat(depth);
  const lines = (open, items, close) =>
    items.length
      ? `${open}\n${items.map((each) => `${indent}    ${each},`).join("\n")}\n${indent}${close}`
      : open + close;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value))
    return lines(
      "[",
      value.map((each) => python(each, depth + 1)),
      "]",
    );
  if (typeof value === "object")
    return lines(
      "{",
      Object.entries(value).map(
        ([name, each]) => `${JSON.stringify(name)}: ${python(each, depth + 1)}`,
      ),
      "}",
    );
  return JSON.stringify(value);
}

const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
