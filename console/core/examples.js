// A request as a program in several languages. The key is a variable, so that the text can be
// shared.
import { address, curl } from "./api.js";
import { subaccount } from "./session.js";

/** `[[id, name, text], ...]` for a POST of `body` with `headers`. */
export function examples(path, { body, query, headers }) {
  const all = {
    ...(subaccount.value === "" ? {} : { "X-SVC-SUBACCOUNT": subaccount.value }),
    ...headers,
    "Content-Type": "application/json",
  };
  const url = address(path, query);
  const lines = (quote, separator) =>
    Object.entries(all).map(([name, value]) => `${quote(name)}${separator}${quote(value)},`);
  const text = JSON.stringify;
  return [
    ["curl", "curl", curl("POST", path, { query, body, headers })],
    [
      "python",
      "Python",
      `import json, os, urllib.request\n\nmessage = ${python(body)}\nrequest = urllib.request.Request(\n    ${text(url)},\n    json.dumps(message).encode(),\n    {\n        "Authorization": os.environ["API_KEY"],\n${lines(
        text,
        ": ",
      )
        .map((each) => `        ${each}\n`)
        .join("")}    },\n)\nprint(urllib.request.urlopen(request).read().decode())`,
    ],
    [
      "node",
      "Node",
      `const message = ${text(body, null, 2)};\nconst response = await fetch(${text(url)}, {\n  method: "POST",\n  headers: {\n    Authorization: process.env.API_KEY,\n${lines(
        text,
        ": ",
      )
        .map((each) => `    ${each}\n`)
        .join("")}  },\n  body: JSON.stringify(message),\n});\nconsole.log(await response.json());`,
    ],
  ];
}

/** A JSON value as a Python literal. */
function python(value, depth = 0) {
  const pad = "    ".repeat(depth + 1);
  const close = "    ".repeat(depth);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, end] = Array.isArray(value) ? "[]" : "{}";
  const items = Array.isArray(value)
    ? value.map((each) => python(each, depth + 1))
    : Object.entries(value).map(
        ([name, each]) => `${JSON.stringify(name)}: ${python(each, depth + 1)}`,
      );
  return items.length
    ? `${open}\n${items.map((each) => `${pad}${each},\n`).join("")}${close}${end}`
    : `${open}${end}`;
}
