// Load data for a component: one state for what is loading, what came, and what went wrong.
import { useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { subaccount } from "./session.js";

/** @type {{data: any, error: any, loading: boolean}} */
const LOADING = { data: undefined, error: null, loading: true };

/**
 * Call `load(signal)` when the component appears and whenever `dependencies` or the subaccount
 * change. Returns `{data, error, loading, reload, set}`. While it loads again, `data` is the
 * former.
 * @template T
 * @param {(signal: AbortSignal) => T | Promise<T>} load
 * @param {unknown[]} [dependencies]
 * @returns {Api.Resource<T>}
 */
export function useResource(load, dependencies = []) {
  const [state, setState] = useState(() => LOADING);
  const latest = useRef(load);
  const running = useRef(null);
  latest.current = load;
  const reload = useCallback(async () => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState((former) => ({ ...former, loading: true }));
    try {
      const data = await latest.current(abort.signal);
      if (!abort.signal.aborted) setState({ data, error: null, loading: false });
    } catch (error) {
      if (abort.signal.aborted) return;
      setState((former) => ({ data: former.data, error, loading: false }));
    }
  }, []);
  const set = useCallback(
    (change) => setState((former) => ({ ...former, data: change(former.data) })),
    [],
  );
  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [...dependencies, subaccount.value]);
  return { ...state, reload, set };
}

/**
 * Return a function that adds the page at `state.next` to `state.rows`, up to `most` rows.
 * `fetch(next)` answers with `{rows, next}`. It is made here, since a function that lives on in a
 * view keeps the rows of the drawing that made it.
 */
export function useMore(state, setState, fetch, most) {
  const latest = useRef({ state, fetch });
  latest.current = { state, fetch };
  return useNext(latest, state.next, setState, most);
}

function useNext(latest, next, setState, most) {
  const loading = useRef(false);
  return useCallback(async () => {
    if (!next || loading.current || latest.current.state.rows.length >= most) return;
    loading.current = true;
    try {
      const page = await latest.current.fetch(next);
      setState((former) => ({ ...former, rows: [...former.rows, ...page.rows], next: page.next }));
    } catch (error) {
      setState((former) => ({ ...former, error, next: null }));
    } finally {
      loading.current = false;
    }
  }, [next]);
}

/** Call `work` every `seconds` while the tab is visible. */
export function useInterval(work, seconds) {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    if (!seconds) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/** Return `value` once it has not changed for `milliseconds`. */
export function useSettled(value, milliseconds = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
