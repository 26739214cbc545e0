// What the description of the API (OpenAPI) says about each operation, as the console shows it.

/**
 * The operations of a document in its order: `{id, tag, method, path, summary, grant, isPublic,
 * isForPeople, parameters, bodies, responses}`.
 */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id:
        operation.operationId ??
        `${method}_${path.replaceAll(/[^a-z0-9]+/gi, "_").replace(/^_|_$/g, "")}`,
      tag: operation.tags?.[0] ?? "This machine",
      method: method.toUpperCase(),
      path,
      summary: operation.summary.replaceAll("`", ""),
      grant: operation.security?.[0]?.key?.[0] ?? "",
      isPublic: !operation.security?.length,
      isForPeople:
        Boolean(operation.security?.length) && !operation.security.some(({ key }) => key),
      parameters: (operation.parameters ?? []).map((each) => resolved(document, each)),
      bodies: Object.entries(operation.requestBody?.content ?? {}).map(([mediaType, body]) => ({
        mediaType,
        ...body,
      })),
      isBodyRequired: operation.requestBody?.required ?? false,
      responses: Object.entries(operation.responses).map(([status, response]) => ({
        status,
        ...resolved(document, response),
      })),
    })),
  );
}

export function resolved(document, value) {
  if (!value?.$ref) return value ?? {};
  return value.$ref
    .slice(2)
    .split("/")
    .reduce((part, name) => part[name], document);
}

const DEEPEST = 5;

/** A schema as rows of a table: `{depth, name, type, isRequired, text}`. */
export function rowsOf(document, schema, depth = 0) {
  const own = resolved(document, schema);
  const variants = (own.anyOf ?? own.oneOf ?? []).map((each) => resolved(document, each));
  if (depth > DEEPEST) return [];
  const nested = [own, ...variants].flatMap((each) =>
    each.properties
      ? Object.entries(each.properties).map(([name, property]) => [
          name,
          property,
          each.required?.includes(name),
        ])
      : each.items
        ? rowsIn(document, each.items)
        : typeof each.additionalProperties === "object"
          ? [["(any name)", each.additionalProperties, false]]
          : [],
  );
  return nested.flatMap(([name, property, isRequired]) => {
    const inner = resolved(document, property);
    return [
      {
        depth,
        name,
        type: typeOf(document, inner),
        isRequired: Boolean(isRequired),
        text: textOf(document, inner),
      },
      ...rowsOf(document, inner, depth + 1),
    ];
  });
}

/** The properties of an array's elements, which stand one step below it. */
function rowsIn(document, items) {
  const own = resolved(document, items);
  return [own, ...(own.anyOf ?? own.oneOf ?? []).map((each) => resolved(document, each))].flatMap(
    (each) =>
      Object.entries(each.properties ?? {}).map(([name, property]) => [
        name,
        property,
        each.required?.includes(name),
      ]),
  );
}

export function typeOf(document, schema) {
  const own = resolved(document, schema);
  const variants = own.anyOf ?? own.oneOf;
  if (variants) return [...new Set(variants.map((each) => typeOf(document, each)))].join(" or ");
  if (own.enum) return own.enum.map(String).join(" | ");
  if (own.const !== undefined) return String(own.const);
  const type = [own.type ?? "any"].flat().join(" or ");
  return type === "array"
    ? `array of ${typeOf(document, own.items ?? {})}`
    : own.format
      ? `${type} (${own.format})`
      : type;
}

const LIMITS = {
  minimum: "at least",
  maximum: "at most",
  minLength: "characters at least",
  maxLength: "characters at most",
  minItems: "elements at least",
  maxItems: "elements at most",
  pattern: "matches",
  default: "default",
};

/** The description of a schema and its limits. */
export function textOf(document, schema) {
  const own = resolved(document, schema);
  const limits = Object.entries(LIMITS)
    .filter(([name]) => own[name] !== undefined)
    .map(([name, text]) => `${text} ${own[name]}`);
  return [own.description, limits.join(", ")].filter(Boolean).join(". ");
}
