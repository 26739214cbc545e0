// What this service is: local or deployed, its version, and what the key or person may do.
import { computed, effect, signal, untracked } from "../vendor/preact.js";
import { get } from "./api.js";
import { enrolling, identity, person, subaccount } from "./session.js";

/** Whether the local runtime's own routes are there; null until that is known. */
export const local = signal(null);
/** The account of the key or person, or null where they may not read it. */
export const account = signal(null);
/** The subaccounts to switch between; empty for who may not list them. */
export const subaccounts = signal(/** @type {Api.Row<"api/v1/subaccounts">[]} */ ([]));
/** The id of the key; empty while it is unknown, and for a person. */
export const ownKey = signal("");
/** The subaccount that the key or person is tied to; empty for the whole account. */
export const ownSubaccount = signal("");
/**
 * The grants of the key or person; null while they are unknown, and if they cannot be learned:
 * everything is offered then.
 */
export const grants = signal(null);
/**
 * Whether it was tried to learn the grants; pages wait for it, so that none asks for what it may
 * not read.
 */
export const discovered = signal(false);
export const version = signal("");
/** What to say about mail that leaves this machine; empty where none does, and once deployed. */
export const outgoing = signal("");

/** What texts call the one who may do something: a person, or the key of this tab. */
export const who = () => (person.value ? "You" : "This key");

/** Whether the key or person may do what needs `grant`; of several, one is enough. */
export const may = (grant) =>
  !grant || grants.value === null || [grant].flat().some((each) => grants.value.has(each));

/**
 * The subaccount whose data are shown: the one they are tied to, or the one that requests act for;
 * empty for all.
 */
export const shownSubaccount = () => ownSubaccount.value || subaccount.value;
/** The same as a filter of events and metrics, which take it as a parameter. */
export const ofSubaccount = () =>
  shownSubaccount() === "" ? {} : { subaccounts: shownSubaccount() };
export const subaccountName = (id) =>
  subaccounts.value.find((each) => each.id === id)?.name ?? `Subaccount ${id}`;

export async function discover() {
  const { stage, version: text } = await get("console/service.json");
  version.value = text;
  local.value = stage === "local";
  if (!local.value) return;
  const { results } = await get("local/delivery");
  outgoing.value = results.warning ?? "";
}

const read = (path) =>
  get(path, undefined, { headers: { "X-SVC-SUBACCOUNT": null } }).then(
    ({ results }) => results,
    () => null,
  );

/** What tells the sessions apart that may look around. */
const session = computed(() => (enrolling.value ? "" : identity()));

effect(() => {
  const current = session.value;
  account.value = null;
  subaccounts.value = [];
  grants.value = null;
  ownKey.value = "";
  ownSubaccount.value = "";
  discovered.value = false;
  // Only another session is a reason to learn all of this again
  if (current) untracked(() => load(current));
});

/** Read the subaccounts again, after one was added or changed. */
export async function reloadSubaccounts() {
  subaccounts.value = (await read("api/v1/subaccounts")) ?? [];
}

/** Learn what the key or person may do, and read the rest only as far as they may. */
async function load(current) {
  const own = person.value ?? (await read("api/v1/api-keys/current"));
  if (session.value !== current) return; // signed out meanwhile
  ownKey.value = person.value ? "" : (own?.id ?? "");
  ownSubaccount.value = own?.subaccount_id ? String(own.subaccount_id) : "";
  grants.value = own ? new Set(own.grants) : null;
  discovered.value = true;
  if (!own) return;
  if (own.subaccount_id) subaccount.value = "";
  const details = may("account/view") ? await read("api/v1/account") : null;
  if (session.value !== current) return;
  account.value = details;
  if (may("subaccount/view")) await reloadSubaccounts();
  else subaccount.value = "";
}
