"""Generate, read and check the RSA key pairs of DKIM (spec 2.5 rule 1).

A private key is RSA in PKCS #1 or PKCS #8, a public key RSA in PKCS #1 or SubjectPublicKeyInfo;
either may come as PEM or as bare base64 of the DER, as in a DNS record. The service itself
writes PKCS #8 PEM and SubjectPublicKeyInfo base64.
"""

import re
from base64 import b64encode
from binascii import a2b_base64
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    RSAPublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
)

SHORTEST_BITS, LONGEST_BITS = 1024, 4096  # what every verifier must accept: RFC 8301 3.2
_LONGEST_TEXT = 16_384

_PEM = re.compile(r"\s*-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----\s*")
_PRIVATE_LABELS = {"RSA PRIVATE KEY", "PRIVATE KEY"}
_PUBLIC_LABELS = {"RSA PUBLIC KEY", "PUBLIC KEY"}


class DkimKeyError(ValueError):
    """A key that cannot sign or verify DKIM; the text says why and never quotes the key."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The private half in PEM or base64, and the base64 of the public half for the DNS record."""

    private_pem: str = field(repr=False)
    public_b64: str


def generate_key(bits: int) -> KeyPair:
    """Generate an RSA key pair of 1024 to 4096 bits; raises ``DkimKeyError`` for other lengths."""
    if not SHORTEST_BITS <= bits <= LONGEST_BITS:
        raise DkimKeyError(f"a key has {SHORTEST_BITS} to {LONGEST_BITS} bits, not {bits}")
    private = generate_private_key(65537, bits)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(pem.decode("ascii"), _spki(private.public_key()))


def private_der(private: str) -> tuple[int, str]:
    """Return the bits of a private key, and its PKCS #1 form as base64 of the DER."""
    key = read_private(private, check=False)
    der = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return key.key_size, b64encode(der).decode("ascii")


def public_from_private(private: str) -> str:
    """Return the public half of a private key as SubjectPublicKeyInfo base64."""
    return _spki(read_private(private, check=True).public_key())


def check_pair(private: str, public: str) -> None:
    """Raise ``DkimKeyError`` unless both keys are sound and belong together (spec 2.5 rule 1)."""
    key = read_private(private, check=True)
    probe = key.sign(b"probe", PKCS1v15(), SHA256())
    try:
        read_public(public).verify(probe, b"probe", PKCS1v15(), SHA256())
    except InvalidSignature:
        raise DkimKeyError("the private and the public key do not match") from None


def canonical_public(public: str) -> str:
    """Return a public key in any accepted form as SubjectPublicKeyInfo base64."""
    return _spki(read_public(public))


def read_private(private: str, *, check: bool) -> RSAPrivateKey:
    """Read a private key; ``check`` proves its numbers sound, which takes tens of milliseconds."""
    der = _der(private, "private", _PRIVATE_LABELS)
    try:
        key = load_der_private_key(der, None, unsafe_skip_rsa_key_validation=not check)
    except TypeError:
        raise DkimKeyError("the private key is password-protected") from None
    except (ValueError, UnsupportedAlgorithm):
        raise DkimKeyError("the private key cannot be parsed") from None
    if not isinstance(key, RSAPrivateKey):
        raise DkimKeyError("the private key is not an RSA key")
    _check_length(key.key_size, "private")
    return key


def read_public(public: str) -> RSAPublicKey:
    """Read a public key."""
    der = _der(public, "public", _PUBLIC_LABELS)
    try:
        key = load_der_public_key(der)
    except (ValueError, UnsupportedAlgorithm):
        raise DkimKeyError("the public key cannot be parsed") from None
    if not isinstance(key, RSAPublicKey):
        raise DkimKeyError("the public key is not an RSA key")
    _check_length(key.key_size, "public")
    return key


def _der(text: str, kind: str, labels: set[str]) -> bytes:
    if not text.strip():
        raise DkimKeyError(f"the {kind} key is empty")
    if len(text) > _LONGEST_TEXT:
        raise DkimKeyError(f"the {kind} key is longer than any RSA key")
    if "ENCRYPTED" in text and "-----" in text:
        raise DkimKeyError(f"the {kind} key is password-protected")
    armoured = _PEM.fullmatch(text)
    if armoured and armoured[1] not in labels:
        raise DkimKeyError(f"a {kind} key is expected, not {armoured[1]}")
    try:
        return a2b_base64("".join((armoured[2] if armoured else text).split()), strict_mode=True)
    except ValueError:
        raise DkimKeyError(f"the {kind} key is neither PEM nor base64") from None


def _check_length(bits: int, kind: str) -> None:
    if not SHORTEST_BITS <= bits <= LONGEST_BITS:
        raise DkimKeyError(f"the {kind} key has {bits} bits, not {SHORTEST_BITS} to {LONGEST_BITS}")


def _spki(public: RSAPublicKey) -> str:
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(der).decode("ascii")
