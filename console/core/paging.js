// The pages of a list that is searched from the newest entry back.
import { useCallback, useEffect, useRef } from "../vendor/preact.js";
import { get } from "./api.js";

const AT_ONCE = 8;

/** The state of such a list before its first page has come. @type {Api.ListState<any>} */
export const LOADING = { rows: [], next: null, loading: true, error: null };

/**
 * One page: `{rows, next}`. Where few entries match, the API may answer with none and lead on, so a
 * few of its pages are read until there is one.
 * @returns {Promise<{rows: any[], next: string | null}>}
 */
export async function readPage(path, query) {
  let page = await get(path, query);
  for (let read = 1; !page.results.length && page.links?.next && read < AT_ONCE; read += 1)
    page = await get(page.links.next);
  return { rows: page.results, next: page.links?.next ?? null };
}

/**
 * Load the first page whenever `identity` changes; returns a function that loads it again.
 * `queryOf()` is the query of the present filters.
 */
export function useFirstPage(identity, path, queryOf, setState) {
  const newest = useRef(null);
  const load = useCallback(async () => {
    // An answer to earlier filters may come after that to the present ones
    const asked = (newest.current = {});
    setState((former) => ({ ...former, loading: true, error: null }));
    try {
      const page = await readPage(path, queryOf());
      if (asked === newest.current) setState({ ...page, loading: false, error: null });
    } catch (error) {
      if (asked === newest.current) setState({ ...LOADING, loading: false, error });
    }
  }, []);
  useEffect(() => {
    load();
  }, [identity]);
  return load;
}
