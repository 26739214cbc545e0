// What the console knows about snippets: their address, and how a template imports one.
export const SNIPPETS = "api/labs/snippets";
export const snippetPath = (id) => `${SNIPPETS}/${encodeURIComponent(id)}`;
/** The expression by which a template imports a snippet. */
export const importOf = (id) => `{{ render_snippet("${id}") }}`;
/** Under what the test data of a snippet is stored; ids of templates have no colon. */
export const dataId = (id) => `snippet:${id}`;
