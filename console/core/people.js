// Who is signed in: asked when the console opens, after each way of signing in, and when another
// tab of this browser says that it changed.
import { effect, untracked } from "../vendor/preact.js";
import { get, post } from "./api.js";
import {
  asking,
  beginKey,
  beginPerson,
  csrfToken,
  enrolling,
  expire,
  forget,
  key,
  notice,
  person,
  visit,
} from "./session.js";

const ME = "api/v1/me";
const CHANGED = new BroadcastChannel("postfinch.session");
let isExchanging = false;
/** A request that is about the person, whatever subaccount the console acts for. */
export const OWN = { headers: { "X-SVC-SUBACCOUNT": null } };

/** Ask who is signed in, and show that. Returns whether somebody is. */
export async function findPerson() {
  try {
    const { results } = await get(ME, undefined, OWN);
    beginPerson(results);
  } catch (error) {
    // The service may not say who it is until a second factor is shown
    if (error.code === "2fa_setup_required") await resumeEnrolling();
    else if (person.value) expire("Your session has ended. Sign in again.");
  } finally {
    asking.value = false;
  }
  return Boolean(person.value);
}

/** Read the person again, after something about them was changed. */
export async function reloadPerson() {
  const { results } = await get(ME, undefined, OWN);
  beginPerson(results);
}

/** Go on with a session that may only set up a second factor, as after a reload. */
async function resumeEnrolling() {
  const { results } = await get("api/v1/second-factor", undefined, OWN);
  beginEnrolling(results.csrf_token);
}

/** A session that may only set up a second factor: `token` is for its changes. */
function beginEnrolling(token) {
  key.value = "";
  csrfToken.value = token;
  enrolling.value = true;
}

/** Go on after the service has signed somebody in. */
export async function enter() {
  asking.value = true;
  visit.value = null;
  await findPerson();
  CHANGED.postMessage("");
}

/**
 * Make a request that signs in. Returns "" if it did, "second factor" with the ways to show one if
 * that is missing; raises ApiError.
 * @param {() => Promise<any>} ask
 * @returns {Promise<{methods: string[]} | null>}
 */
export async function signInBy(ask) {
  try {
    await ask();
  } catch (error) {
    if (error.code === "2fa_required") return { methods: error.body?.methods ?? ["totp"] };
    if (error.code !== "2fa_setup_required") throw error;
    visit.value = null;
    beginEnrolling(error.body.results.csrf_token);
    return null;
  }
  await enter();
  return null;
}

/** Sign out. A key's view ends with it, and a person who is signed in beside it is shown again. */
export async function leave() {
  if (key.value) {
    forget();
    asking.value = true;
    await findPerson();
    return;
  }
  try {
    await post("api/v1/sign-out", undefined, OWN);
  } catch (error) {
    if (error.status !== 401) throw error; // it had ended already
  }
  forget();
  CHANGED.postMessage("");
}

CHANGED.onmessage = () => {
  if (!key.value && !visit.value) findPerson();
};

/** Exchange the key of `#local=KEY` for a session; where that is not offered, view with the key. */
async function enterLocally(text) {
  isExchanging = true;
  try {
    await post("local/sign-in", undefined, {
      headers: { Authorization: text },
      credentials: "same-origin",
    });
    await enter();
  } catch {
    beginKey(text);
    asking.value = false;
  }
  isExchanging = false;
}

const FAILURES = {
  refused: "The provider did not sign you in, or you cancelled it.",
  not_invited: "Nobody has invited this address yet. Ask an administrator of the account.",
  unverified: "The provider has not verified your address. Verify it there, then sign in again.",
  expired: "Signing in took too long. Start again.",
  failed: "Signing in with the provider failed. Try again, or sign in another way.",
};

/** Follow a link that needs no page of its own. */
effect(() => {
  const { kind, value } = visit.value ?? {};
  if (kind === "local") {
    asking.value = true;
    visit.value = null;
    untracked(() => enterLocally(value));
  } else if (kind === "sign-in-failed") {
    visit.value = null;
    notice.value = FAILURES[value] ?? FAILURES.failed;
  }
});

/** Leave the page of a link. */
export function dismiss() {
  visit.value = null;
  return findPerson();
}

/** Ask who is signed in as the console opens; what a link leads to does that by itself. */
export async function begin() {
  if (key.value || isExchanging || visit.value) return;
  await findPerson();
}
