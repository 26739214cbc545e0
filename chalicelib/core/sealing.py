"""Encrypt secrets before they reach a table, and decrypt them where they are used.

AES-256-GCM under ``SECRET_KEY``; with ``KMS_KEY_ID`` set, under a data key for each secret, which
KMS wraps, because KMS itself takes only 4,096 bytes and a webhook's credentials may be larger. A
secret is bound to a context (such as its domain) and can be opened only with the same context.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from chalicelib.core import aws, caches
from chalicelib.core.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

_NONCE_BYTES = 12
_KEY_BYTES = 32


class SealBroken(Exception):
    """The sealed value was altered, or belongs to another context or key."""


def key_of(text: str) -> bytes:
    """Return the 32 bytes that a ``SECRET_KEY`` stands for; raises ``ValueError``."""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ValueError("SECRET_KEY must be the base64 form of 32 bytes")
    return key


@cache
def master_key() -> bytes:
    """Return the 32 bytes of ``SECRET_KEY``; raises ``ValueError`` if it is not valid."""
    return key_of(settings().secret_key)


caches.register(master_key.cache_clear)


@dataclass(frozen=True, slots=True)
class Sealer:
    """What secrets are sealed with: 32 bytes, or the KMS key ``kms_key_id`` if there is one."""

    master: bytes
    kms_key_id: str = ""
    kms: KMSClient | None = None

    def seal(self, secret: bytes, context: str) -> bytes:
        """Return ``secret`` encrypted and bound to ``context``."""
        if not self.kms_key_id:
            return _encrypt(self.master, secret, context)
        key = os.urandom(_KEY_BYTES)
        wrapped = self._client().encrypt(
            KeyId=self.kms_key_id, Plaintext=key, EncryptionContext={"postfinch": context}
        )["CiphertextBlob"]
        return len(wrapped).to_bytes(2, "big") + wrapped + _encrypt(key, secret, context)

    def open(self, sealed: bytes, context: str) -> bytes:
        """Return what :meth:`seal` was given; raises :class:`SealBroken`."""
        if not self.kms_key_id:
            return _decrypt(self.master, sealed, context)
        end = 2 + int.from_bytes(sealed[:2], "big")
        return _decrypt(self._unwrap(sealed[2:end], context), sealed[end:], context)

    def _unwrap(self, wrapped: bytes, context: str) -> bytes:
        kms = self._client()
        try:
            response = kms.decrypt(CiphertextBlob=wrapped, EncryptionContext={"postfinch": context})
        except kms.exceptions.InvalidCiphertextException:
            raise SealBroken(context) from None
        return bytes(response["Plaintext"])

    def _client(self) -> KMSClient:
        return self.kms or aws.kms()


def seal(secret: bytes, context: str) -> bytes:
    """Return ``secret`` encrypted with the key of the settings and bound to ``context``."""
    return _own_sealer().seal(secret, context)


def open_sealed(sealed: bytes, context: str) -> bytes:
    """Return what :func:`seal` was given; raises :class:`SealBroken`."""
    return _own_sealer().open(sealed, context)


def _own_sealer() -> Sealer:
    key_id = settings().kms_key_id
    return Sealer(b"" if key_id else master_key(), key_id)


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
