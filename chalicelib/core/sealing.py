"""Secrets at rest: sealed before they reach a table, opened where they are used.

With ``KMS_KEY_ID`` set the key never leaves KMS; else AES-256-GCM under ``SECRET_KEY``. What is
sealed is bound to a context (such as the domain it belongs to) and opens under that context only.
"""

from __future__ import annotations

import base64
import os
from functools import cache

from chalicelib.core import aws
from chalicelib.core.settings import settings

_NONCE_BYTES = 12


class SealBroken(Exception):
    """The sealed value was altered, or belongs to another context or key."""


@cache
def master_key() -> bytes:
    """Return the 32 bytes of ``SECRET_KEY``; raises ``ValueError`` when it is not set rightly."""
    try:
        key = base64.b64decode(settings().secret_key, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError("SECRET_KEY must be the base64 form of 32 bytes")
    return key


def seal(secret: bytes, context: str) -> bytes:
    """Return ``secret`` encrypted and bound to ``context``."""
    if settings().kms_key_id:
        return aws.kms().encrypt(
            KeyId=settings().kms_key_id,
            Plaintext=secret,
            EncryptionContext={"postfinch": context},
        )["CiphertextBlob"]
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(master_key()).encrypt(nonce, secret, context.encode())


def open_sealed(sealed: bytes, context: str) -> bytes:
    """Return what :func:`seal` was given; raises :class:`SealBroken`."""
    if settings().kms_key_id:
        return _open_with_kms(sealed, context)
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    cipher = AESGCM(master_key())
    try:
        return cipher.decrypt(nonce, body, context.encode())
    except (InvalidTag, ValueError):  # the latter where less than a nonce is left
        raise SealBroken(context) from None


def _open_with_kms(sealed: bytes, context: str) -> bytes:
    kms = aws.kms()
    try:
        opened = kms.decrypt(CiphertextBlob=sealed, EncryptionContext={"postfinch": context})
    except kms.exceptions.InvalidCiphertextException:
        raise SealBroken(context) from None
    return opened["Plaintext"]
