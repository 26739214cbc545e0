// The ways into a session: a request that signs in, a link of the local service.
import { post } from "./api.js";
import { beginEnrolling, enter } from "./people.js";
import { asking, beginKey, notice, visit } from "./session.js";

/**
 * Make a request that signs in. Returns null if it did, and the ways to show a second factor if
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

/** Exchange the key of `#local=KEY` for a session; where that is not offered, view with the key. */
export async function enterLocally(text) {
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
}

const FAILURES = {
  refused: "The provider did not sign you in, or you cancelled it.",
  not_invited: "Nobody has invited this address yet. Ask an administrator of the account.",
  unverified: "The provider has not verified your address. Verify it there, then sign in again.",
  expired: "Signing in took too long. Start again.",
  failed: "Signing in with the provider failed. Try again, or sign in another way.",
};

/** Say on the sign-in page why the provider did not sign anybody in. */
export function explainFailure(code) {
  notice.value = FAILURES[code] ?? FAILURES.failed;
}
