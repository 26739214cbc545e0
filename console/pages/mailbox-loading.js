// Load the list of the mailbox page by page, and add what arrives.
import { useCallback, useEffect, useRef } from "../vendor/preact.js";
import { get } from "../core/api.js";
import { inboxFilter } from "../core/inboxes.js";
import { useLive } from "../core/live.js";
import { useMore } from "../core/resource.js";
import { route } from "../core/router.js";
import { shownSubaccount } from "../core/service.js";

/** @typedef {Api.Row<"local/mailbox">} Mail */

/** How many messages are listed at most; older ones take a search. */
export const MOST = 50000;
const PAGE = 500;

/** Which mail is shown, and so marked or deleted with "all": the local routes know no key. */
export function shownMail() {
  const { q, inbox } = route.value.query;
  return { ...inboxFilter(inbox, q), subaccount: shownSubaccount() };
}

const isNarrowed = () => Object.values(shownMail()).some((each) => each);

/**
 * Load the first page for the present search.
 * @param {Record<string, string>} query
 * @param {(change: any) => void} setState
 */
export function useFirstPage({ q, inbox }, setState) {
  const load = useCallback(async () => {
    const filters = shownMail();
    const isCurrent = () => JSON.stringify(filters) === JSON.stringify(shownMail());
    try {
      const answer = await get("local/mailbox", { ...filters, details: true, limit: PAGE });
      // A slow answer is not shown under the next search
      if (!isCurrent()) return;
      setState({
        rows: answer.results,
        counts: answer.counts,
        next: answer.links?.next ?? null,
        loading: false,
        error: null,
      });
    } catch (error) {
      if (isCurrent()) setState((former) => ({ ...former, loading: false, error }));
    }
  }, []);
  useEffect(() => {
    setState((former) => ({ ...former, loading: true }));
    load();
  }, [q, inbox, shownSubaccount()]);
  return load;
}

/** What loads older mail. */
export function useOlder(state, setState) {
  return useMore(
    state,
    setState,
    async (next) => {
      const answer = await get(next);
      return { rows: answer.results, next: answer.links?.next ?? null };
    },
    MOST,
  );
}

/** Show mail as it arrives; returns whether the connection is there. */
export function useNews(load, setState) {
  const arrivals = useArrivals((messages) => {
    if (isNarrowed()) return load();
    return setState((former) => {
      const known = new Set(former.rows.slice(0, 1000).map((each) => each.id));
      return {
        ...former,
        rows: [...messages.filter((each) => !known.has(each.id)), ...former.rows].slice(0, MOST),
        loading: false,
      };
    });
  });
  const connected = useLive({
    message: arrivals,
    mailbox: (counts) =>
      setState((former) =>
        former.counts && counts.messages < former.counts.messages - 1
          ? (load(), former)
          : { ...former, counts },
      ),
    gap: load,
  });
  return connected;
}

/** Gather messages that arrive together, so that many of them are drawn at once. */
function useArrivals(work) {
  const latest = useRef(work);
  latest.current = work;
  const pending = useRef(/** @type {Mail[]} */ ([]));
  const timer = useRef(0);
  return useCallback((message) => {
    pending.current.unshift(message);
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      latest.current(pending.current.splice(0));
    }, 120);
  }, []);
}
