"""Encrypt secrets before they reach a table, and decrypt them where they are used.

AES-256-GCM under ``SECRET_KEY``; with ``KMS_KEY_ID`` set, under a data key for each secret, which
KMS wraps, because KMS itself takes only 4,096 bytes and a webhook's credentials may be larger. A
secret is bound to a context (such as its domain) and can be opened only with the same context.
"""

from __future__ import annotations

import base64
import os
from functools import cache

from chalicelib.core import aws, caches
from chalicelib.core.settings import settings

_NONCE_BYTES = 12
_KEY_BYTES = 32


class SealBroken(Exception):
    """The sealed value was altered, or belongs to another context or key."""


@cache
def master_key() -> bytes:
    """Return the 32 bytes of ``SECRET_KEY``; raises ``ValueError`` if it is not valid."""
    try:
        key = base64.b64decode(settings().secret_key, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError("SECRET_KEY must be the base64 form of 32 bytes")
    return key


caches.register(master_key.cache_clear)


def seal(secret: bytes, context: str) -> bytes:
    """Return ``secret`` encrypted and bound to ``context``."""
    if not settings().kms_key_id:
        return _encrypt(master_key(), secret, context)
    key = os.urandom(_KEY_BYTES)
    wrapped = aws.kms().encrypt(
        KeyId=settings().kms_key_id,
        Plaintext=key,
        EncryptionContext={"postfinch": context},
    )["CiphertextBlob"]
    return len(wrapped).to_bytes(2, "big") + wrapped + _encrypt(key, secret, context)


def open_sealed(sealed: bytes, context: str) -> bytes:
    """Return what :func:`seal` was given; raises :class:`SealBroken`."""
    if not settings().kms_key_id:
        return _decrypt(master_key(), sealed, context)
    end = 2 + int.from_bytes(sealed[:2], "big")
    return _decrypt(_unwrap(sealed[2:end], context), sealed[end:], context)


def _encrypt(key: bytes, secret: bytes, context: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, secret, context.encode())


def _decrypt(key: bytes, sealed: bytes, context: str) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        return AESGCM(key).decrypt(nonce, body, context.encode())
    except (InvalidTag, ValueError):  # ValueError if there is less than a nonce
        raise SealBroken(context) from None


def _unwrap(wrapped: bytes, context: str) -> bytes:
    kms = aws.kms()
    try:
        response = kms.decrypt(CiphertextBlob=wrapped, EncryptionContext={"postfinch": context})
    except kms.exceptions.InvalidCiphertextException:
        raise SealBroken(context) from None
    return bytes(response["Plaintext"])
