// Passkeys (WebAuthn): what the service asks for and gets is JSON, in which bytes are base64url
// (WebAuthn Level 3, 5.1.8 to 5.1.10). Browsers that do not read it themselves get it read here.
import { post } from "./api.js";
import { signInBy } from "./entering.js";

/** Whether this browser has passkeys; only pages that came under TLS or from this machine do. */
export const hasPasskeys = () => Boolean(globalThis.PublicKeyCredential && navigator.credentials);

/** Make a passkey by the service's options; returns the credential as JSON. */
export async function makePasskey(options) {
  const publicKey =
    PublicKeyCredential.parseCreationOptionsFromJSON?.(options) ?? creationOptionsOf(options);
  return jsonOf(await asked(() => navigator.credentials.create({ publicKey })));
}

/** Show a passkey by the service's options; returns the credential as JSON. */
export async function showPasskey(options) {
  const publicKey =
    PublicKeyCredential.parseRequestOptionsFromJSON?.(options) ?? requestOptionsOf(options);
  return jsonOf(await asked(() => navigator.credentials.get({ publicKey })));
}

/** Sign in with a passkey that the browser finds for this address of the console. */
export async function signInByPasskey() {
  const { results } = await post("api/v1/sign-in/passkey/options", {});
  const credential = await showPasskey(results.options);
  await signInBy(() => post("api/v1/sign-in/passkey", { credential, state: results.state }));
}

const REASONS = {
  InvalidStateError: "This device already has a passkey for you.",
  NotAllowedError: "No passkey was used: it was cancelled, or took too long.",
  SecurityError: "Passkeys do not work at this address of the console.",
};

async function asked(ask) {
  try {
    const credential = await ask();
    if (credential) return credential;
  } catch (error) {
    throw new Error(REASONS[error.name] ?? `The browser could not use a passkey: ${error.message}`);
  }
  throw new Error(REASONS.NotAllowedError);
}

/** The bytes of a base64url text. */
export function bytesOf(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (each) => each.charCodeAt(0));
}

/** Bytes as base64url without padding. */
export function textOf(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const described = (credentials = []) =>
  credentials.map((each) => ({ ...each, id: bytesOf(each.id) }));

export function creationOptionsOf(options) {
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: described(options.excludeCredentials),
  };
}

export function requestOptionsOf(options) {
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    allowCredentials: described(options.allowCredentials),
  };
}

const FIELDS = [
  "clientDataJSON",
  "attestationObject",
  "authenticatorData",
  "signature",
  "userHandle",
];

/** A credential as JSON, by the browser or as it would do it. */
export function jsonOf(credential) {
  if (credential.toJSON) return credential.toJSON();
  const { response } = credential;
  const filled = FIELDS.filter((name) => response[name]);
  return {
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: {
      ...Object.fromEntries(filled.map((name) => [name, textOf(response[name])])),
      ...(response.getTransports && { transports: response.getTransports() }),
    },
  };
}
