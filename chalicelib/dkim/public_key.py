"""Read the public key of a key record, and verify signatures with it (RFC 6376 3.6.1, RFC 8463)."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from chalicelib.dkim.tag_list import BadTagList, read_tags, without_blanks

LONGEST_RECORD: Final = 1_500
"""Characters of a key record that is used: more than a key of 8192 bits has.

Whoever signs chooses the key, and the time to use it grows with the cube of its length.
"""

SHORTEST_BITS: Final = 1_024
"""Bits of an RSA key that counts (RFC 8301 3.2)."""

_CACHED_KEYS: Final = 256
_PADDING, _HASH = PKCS1v15(), Prehashed(SHA256())


class BadKey(ValueError):
    """There is no key that can be used; the text says why."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A published key, what it may sign, and its flags (``s``: the same domain only)."""

    key: RSAPublicKey | Ed25519PublicKey
    services: frozenset[str]
    flags: frozenset[str]

    @property
    def kind(self) -> str:
        """Return ``rsa`` or ``ed25519``."""
        return "rsa" if isinstance(self.key, RSAPublicKey) else "ed25519"

    @property
    def is_short(self) -> bool:
        """Tell whether signatures with the key do not count (RFC 8301)."""
        return isinstance(self.key, RSAPublicKey) and self.key.key_size < SHORTEST_BITS

    def verifies(self, signature: bytes, digest: bytes) -> bool:
        """Tell whether a signature is that of a SHA-256 digest."""
        try:
            if isinstance(self.key, RSAPublicKey):
                self.key.verify(signature, digest, _PADDING, _HASH)
            else:
                self.key.verify(signature, digest)
        except InvalidSignature:
            return False
        return True


def find_key(texts: Sequence[str]) -> PublicKey:
    """Return the first key among the TXT records of its name; raises :class:`BadKey`."""
    for text in texts:
        if len(text) > LONGEST_RECORD:
            raise BadKey("the key record is too long")
        if "p=" in without_blanks(text):
            return _read(text)
    raise BadKey("there is no key record")


@lru_cache(_CACHED_KEYS)
def _read(text: str) -> PublicKey:
    try:
        tags = read_tags(text)
    except BadTagList as error:
        raise BadKey(f"the key record cannot be read: {error}") from None
    if tags.get("v", "DKIM1") != "DKIM1" or ("v" in tags and next(iter(tags)) != "v"):
        raise BadKey("the key record is of another version")
    if "sha256" not in _words(tags.get("h", "sha256")):
        raise BadKey("the key is not for SHA-256")
    if not tags.get("p"):
        raise BadKey("the key is revoked")
    key = _key(tags.get("k", "rsa"), without_blanks(tags["p"]))
    return PublicKey(key, _words(tags.get("s", "*")), _words(tags.get("t", "")))


def _words(value: str) -> frozenset[str]:
    return frozenset(word.strip() for word in value.split(":"))


def _key(kind: str, text: str) -> RSAPublicKey | Ed25519PublicKey:
    try:
        octets = a2b_base64(text, strict_mode=True)
        if kind == "ed25519":
            return Ed25519PublicKey.from_public_bytes(octets)
        key = load_der_public_key(octets) if kind == "rsa" else None
    except (ValueError, UnsupportedAlgorithm):
        raise BadKey("the key cannot be read") from None
    if not isinstance(key, RSAPublicKey):
        raise BadKey(f"the key is of the unknown type {kind[:40]!r}")
    return key
