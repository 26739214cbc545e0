// What the console knows about users: the roles in plain words, and which of them the viewer may
// give.
import { get } from "./api.js";
import { loadGrants } from "./grants.js";
import { may, subaccountName } from "./service.js";

export const USERS = "api/v1/users";
export const userPath = (id) => `${USERS}/${encodeURIComponent(id)}`;
/** Users belong to the account: requests about them act for no subaccount. */
export const OF_ACCOUNT = { headers: { "X-SVC-SUBACCOUNT": null } };
export const MANAGE = "users/manage";
export const CUSTOM = "custom";

/** `[role, name, what it allows]`, the one that allows most first. */
export const ROLES = [
  ["admin", "Administrator", "Everything, with users, API keys and the account itself."],
  ["developer", "Developer", "Sending, domains, webhooks, templates and API keys. No users."],
  ["templates", "Templates", "Writes templates, runs A/B tests and keeps recipient lists."],
  ["reporting", "Reporting", "Reads events, figures and settings. Changes nothing."],
  [CUSTOM, "Custom", "Only what you choose below."],
];
/** The roles of users who may be tied to a subaccount. */
const CONFINABLE = ["developer", "reporting"];

/** Status of the API → its name, tone and icon. */
const STATUSES = {
  invited: ["Invited", "info", "mail"],
  active: ["Active", "good", "circle-check"],
  disabled: ["Disabled", "bad", "ban"],
};

export const statusOf = (user) => STATUSES[user.status] ?? [user.status, "", "circle"];
export const roleName = (role) => ROLES.find(([id]) => id === role)?.[1] ?? role;
export const isConfinable = (role) => CONFINABLE.includes(role);

/** What people call a user: the name, or the address where there is none. */
export const nameOf = (user) => user.name || user.email;

/** The role and the subaccount that it is about. */
export const roleOf = (user) =>
  user.subaccount_id
    ? `${roleName(user.role)} of ${subaccountName(user.subaccount_id)}`
    : roleName(user.role);

/**
 * The grants that the viewer may give (`[{key, label, description}, ...]`), and the roles whose
 * grants are all the viewer's own.
 */
export async function loadGiving(signal) {
  const own = (await loadGrants(signal)).filter((each) => may(each.key));
  const all = may("grants/view")
    ? (await get("api/v1/authenticate/grants", undefined, { signal })).results
    : [];
  return { grants: own, roles: ROLES.map(([role]) => role).filter((role) => mayGive(role, all)) };
}

/** `all` are the grants as the API lists them, each with the `roles` that have it. */
function mayGive(role, all) {
  const needs = all.filter((each) => each.roles.includes(role));
  return role === CUSTOM || (needs.length > 0 && needs.every((each) => may(each.key)));
}

/** What the form sends for its fields. */
export function bodyOf({ email, name, role, subaccount, chosen }, former) {
  const owner = isConfinable(role) && subaccount ? Number(subaccount) : null;
  return {
    ...(former ? {} : { email: email.trim() }),
    name: name.trim(),
    role,
    ...(owner || former?.subaccount_id ? { subaccount_id: owner } : {}),
    ...(role === CUSTOM ? { grants: [...chosen] } : {}),
  };
}
