// Who is signed in: asked when the console opens, after each way of signing in, and when another
// tab of this browser says that it changed.
import { effect, untracked } from "../vendor/preact.js";
import { get, post } from "./api.js";
import {
  asking,
  beginPerson,
  csrfToken,
  enrolling,
  expire,
  forget,
  key,
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
export function beginEnrolling(token) {
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

/** Exchange the key of a local link for a session. */
async function enterLocally(text) {
  const entering = await import("./entering.js");
  await entering.enterLocally(text);
  isExchanging = false;
}

/** Follow a link that needs no page of its own. */
effect(() => {
  const { kind, value } = visit.value ?? {};
  if (kind === "local") {
    asking.value = true;
    visit.value = null;
    isExchanging = true;
    untracked(() => enterLocally(value));
  } else if (kind === "sign-in-failed") {
    visit.value = null;
    import("./entering.js").then((entering) => entering.explainFailure(value));
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
