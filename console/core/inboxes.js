// The inboxes of the local mailbox. The address of the page names the chosen one, in the spelling
// of the search: `""` is the inbox of mail that belongs to no other.
import { useEffect, useRef } from "../vendor/preact.js";
import { get } from "./api.js";
import { number, plural } from "./format.js";
import { useLive } from "./live.js";
import { useResource } from "./resource.js";
import { subaccountName } from "./service.js";

/** @typedef {Api.Row<"local/inboxes">} Inbox */

const UNNAMED = '""';
const PAUSE_MS = 500;

/** What stands for an inbox in the address of the page. */
export const inboxKey = (name) => name || UNNAMED;

/** The parameters of the local routes for a search in an inbox; without `key`, in all of them. */
export function inboxFilter(key, q) {
  if (key === UNNAMED) return { q: ["inbox:" + UNNAMED, q].filter(Boolean).join(" ") };
  return { q, inbox: key };
}

/** What people call an inbox. */
export function inboxName(key) {
  const subaccount = /^subaccount:(\d+)$/.exec(key);
  if (subaccount) return subaccountName(Number(subaccount[1]));
  return key === UNNAMED ? "Main inbox" : key;
}

/** The text of a choice, such as "shop: 12 messages, 3 unread". */
export const inboxLabel = ({ name, messages, unread }) =>
  `${inboxName(inboxKey(name))}: ${plural(messages, "message")}` +
  (unread ? `, ${number(unread)} unread` : "");

/**
 * The inboxes that have messages, counted again after mail came or went.
 * @returns {Inbox[]}
 */
export function useInboxes() {
  const resource = useResource(
    (signal) => get("local/inboxes", undefined, { signal }).then(({ results }) => results),
    [],
  );
  const timer = useRef(0);
  const countLater = () => {
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      resource.reload();
    }, PAUSE_MS);
  };
  useLive({ mailbox: countLater, gap: countLater });
  useEffect(() => () => clearTimeout(timer.current), []);
  return resource.data ?? [];
}
