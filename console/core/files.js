// Files for people: CSV in and out, and saving.

/**
 * Write rows (objects) as CSV (RFC 4180). Texts that a spreadsheet would run are quoted as texts.
 */
export function toCsv(fields, rows) {
  const cell = (value) => {
    let text =
      value === undefined || value === null
        ? ""
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value);
    if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return (
    [
      fields.join(","),
      ...rows.map((row) => fields.map((field) => cell(row[field])).join(",")),
    ].join("\r\n") + "\r\n"
  );
}

/**
 * Parse CSV (RFC 4180, or with semicolons or tabs) into arrays of texts, each with the `line` where
 * it begins. Empty lines are left out.
 */
export function fromCsv(text) {
  const source = text.replace(/^\ufeff/, "");
  const head = source.split(/\r?\n/, 1)[0];
  const separator = [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  const rows = [];
  let row = [];
  let field = "";
  let quoted = false;
  let line = 1;
  let start = 1;
  for (let i = 0; i <= source.length; i += 1) {
    const letter = source[i];
    if (letter === "\n") line += 1;
    if (quoted) {
      if (letter === '"' && source[i + 1] === '"') {
        field += '"';
        i += 1;
      } else if (letter === '"') quoted = false;
      else if (letter === undefined) quoted = false;
      else field += letter;
      if (letter !== undefined) continue;
    }
    if (letter === '"' && field === "") quoted = true;
    else if (letter === separator) {
      row.push(field);
      field = "";
    } else if (letter === "\n" || letter === undefined) {
      row.push(field.replace(/\r$/, ""));
      if (row.some((each) => each !== "")) rows.push(Object.assign(row, { line: start }));
      row = [];
      start = line;
      field = "";
    } else field += letter;
  }
  return rows;
}

/** Save a text as a file of the person's. */
export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
