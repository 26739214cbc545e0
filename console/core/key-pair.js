// An RSA key pair for DKIM that this browser makes: the service never shows the private half of its
// own.

export const PEM_HEAD = "-----BEGIN PRIVATE KEY-----"; // pragma: allowlist secret
const PEM_FOOT = "-----END PRIVATE KEY-----";

/** Make a pair; returns the private half as PEM (PKCS #8). */
export async function makePrivateKey(bits = 2048) {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: bits,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  const text = btoa(String.fromCharCode(...bytes))
    .replace(/(.{64})/g, "$1\n")
    .trimEnd();
  return `${PEM_HEAD}\n${text}\n${PEM_FOOT}\n`;
}

/** Browsers make keys only for pages that came under TLS or from this machine. */
export const canMakeKeys = () => Boolean(globalThis.crypto?.subtle);

/** The DNS record that publishes a key of the API, in the shape of `dns-records`. */
export function recordOf(key) {
  return {
    purpose: "dkim",
    type: "TXT",
    name: `${key.selector}._domainkey.${key.signing_domain}`,
    value: `v=DKIM1; k=rsa; h=sha256; p=${key.public}`,
    required: true,
    status: key.dkim_status,
  };
}
