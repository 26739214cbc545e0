"""Seal a DKIM key pair for storage, and open its private half to sign.

The sealed text is bound to the signing domain, so a key cannot be moved to another domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalicelib.core import sealing
from chalicelib.dkim.model import DEFAULT_SIGNED_HEADERS, DkimKey

if TYPE_CHECKING:
    from chalicelib.dkim.key_pair import KeyPair


def sealed_key(
    pair: KeyPair, selector: str, signing_domain: str, headers: str = DEFAULT_SIGNED_HEADERS
) -> DkimKey:
    """Return the key to store."""
    sealed_private = sealing.seal(pair.private_pem.encode(), context_of(signing_domain))
    return DkimKey(selector, signing_domain, pair.public_b64, sealed_private, headers)


def private_half(key: DkimKey) -> str:
    """Return the private half as it was sealed, in PEM or base64."""
    return sealing.open_sealed(key.sealed_private, context_of(key.signing_domain)).decode()


def context_of(signing_domain: str) -> str:
    """Return what the sealed key of a signing domain is bound to."""
    return f"dkim/{signing_domain}"
