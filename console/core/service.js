// What this service is: local or deployed, its version, and what the key may do.
import { signal, effect } from "../vendor/preact.js";
import { get } from "./api.js";
import { key, subaccount } from "./session.js";

/** Whether the local runtime's own routes are there; null until that is known. */
export const local = signal(null);
/** The account of the key, or null where the key may not read it. */
export const account = signal(null);
/** The subaccounts to switch between; empty for keys that may not list them. */
export const subaccounts = signal([]);
/** The grants of the key; null while they are unknown, and if they cannot be learned: everything is offered then. */
export const grants = signal(null);
/** Whether it was tried to learn the grants; pages wait for it, so that none asks for what it may not read. */
export const discovered = signal(false);
export const version = signal("");

/** Whether the key may do what needs `grant`; of several, one is enough. */
export const may = (grant) => !grant || grants.value === null || [grant].flat().some((each) => grants.value.has(each));

export async function discover() {
  const { stage, version: text } = await get("console/service.json");
  version.value = text;
  local.value = stage === "local";
}

effect(() => {
  if (!key.value) {
    account.value = null;
    subaccounts.value = [];
    grants.value = null;
    discovered.value = false;
    return;
  }
  load(key.value);
});

/** Learn what the key may do, and read the rest only as far as it may. */
async function load(secret) {
  const read = (path) => get(path, undefined, { headers: { "X-SVC-SUBACCOUNT": null } }).then(({ results }) => results, () => null);
  const own = await read("api/v1/api-keys/current");
  if (key.value !== secret) return;
  if (own) grants.value = new Set(own.grants);
  discovered.value = true;
  if (!own) return;
  if (own.subaccount_id) subaccount.value = "";
  if (may("account/view")) account.value = await read("api/v1/account");
  if (may("subaccount/view")) subaccounts.value = (await read("api/v1/subaccounts")) ?? [];
  else subaccount.value = "";
}
