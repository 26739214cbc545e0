// What is done to one message of the mailbox, and to all that are shown.
import { useRef } from "../vendor/preact.js";
import { put, remove, request } from "../core/api.js";
import { plural } from "../core/format.js";
import { inboxName } from "../core/inboxes.js";
import { go } from "../core/router.js";
import { shownSubaccount, subaccountName } from "../core/service.js";
import { confirm } from "../parts/dialog.js";
import { attempt } from "../parts/feedback.js";
import { shownMail } from "./mailbox-loading.js";

/** What is done to all mail that is shown. `total` is its number, null if that is not known. */
export function bulkActions({ state, query, load, total }) {
  const empty = async () => {
    const all = !query.q && !query.inbox && shownSubaccount() === "";
    const amount = total ?? state.rows.length;
    if (
      !(await confirm({
        title: all ? "Delete all mail?" : "Delete all mail shown?",
        text: deletion({ amount, hasMore: total === null && state.next, query, all }),
        action: "Delete all",
        typed: amount > 100 ? String(amount) : undefined,
      }))
    )
      return;
    if (
      await attempt(() => remove("local/mailbox", shownMail()), all ? "Mailbox emptied" : "Deleted")
    ) {
      go(["mailbox"], query);
      load();
    }
  };
  const readAll = async () => {
    if (
      await attempt(() =>
        request("PUT", "local/mailbox", { query: shownMail(), body: { unread: false } }),
      )
    )
      load();
  };
  return { readAll, empty };
}

/** What a question says that "Delete all" does. */
function deletion({ amount, hasMore, query, all }) {
  const whose =
    { "": "", 0: " of the primary account" }[shownSubaccount()] ??
    ` of ${subaccountName(Number(shownSubaccount()))}`;
  const what =
    (hasMore ? "Every message" : plural(amount, "message")) +
    (query.inbox ? ` in the inbox “${inboxName(query.inbox)}”` : "");
  return (
    `${what}${whose}${query.q ? " that the search finds" : ""} ` +
    `${amount === 1 || hasMore ? "is" : "are"} deleted.${all ? "" : " Other mail stays."}`
  );
}

export function useMessageActions({ setState, state, query, selected }) {
  // A message that is opened and deleted at once is not marked as read after it is gone
  const marking = useRef(Promise.resolve());
  const dropped = useRef("");
  const mark = (id, unread) => {
    if (dropped.current === id) return undefined;
    setState((former) => ({
      ...former,
      rows: former.rows.map((each) => (each.id === id ? { ...each, unread } : each)),
    }));
    marking.current = put(`local/mailbox/${id}`, { unread });
    return marking.current;
  };
  const neighbour = (step) => {
    const index = state.rows.findIndex((each) => each.id === selected);
    const row = state.rows[index + step];
    if (index >= 0 && row) go(["mailbox", row.id], query);
    return row;
  };
  const drop = async (id) => {
    const index = state.rows.findIndex((each) => each.id === id);
    const next = state.rows[index + 1] ?? state.rows[index - 1];
    dropped.current = id;
    await marking.current.catch(() => {});
    if (!(await attempt(() => remove(`local/mailbox/${id}`), "Message deleted"))) {
      dropped.current = "";
      return;
    }
    setState((former) => ({ ...former, rows: former.rows.filter((each) => each.id !== id) }));
    go(next ? ["mailbox", next.id] : ["mailbox"], query, { replace: true });
  };
  return { mark, neighbour, drop };
}
