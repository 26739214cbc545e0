"""Encrypt the secrets of a backup with a key that derives from a passphrase.

The key derives by scrypt (RFC 7914), and each secret is sealed by AES-256-GCM under the name of its
file, so that no secret can stand in for another one. The parameters belong to the archive's format.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from infrastructure.machine.backup.errors import BackupError, DamagedArchive

SALT_BYTES = 16
_NONCE_BYTES = 12
_CHECK = "passphrase"


class SecretBox:
    """Seals and opens secrets under the key of ``passphrase`` and ``salt``."""

    def __init__(self, passphrase: str, salt: bytes) -> None:
        # 32 MB of memory and a quarter of a second
        derivation = Scrypt(salt=salt, length=32, n=1 << 15, r=8, p=3)
        self._cipher = AESGCM(derivation.derive(passphrase.encode()))
        self.salt = salt

    @classmethod
    def create(cls, passphrase: str) -> SecretBox:
        """Return a box with a new salt."""
        return cls(passphrase, os.urandom(SALT_BYTES))

    def seal(self, name: str, content: bytes) -> bytes:
        """Encrypt the content of the file ``name``."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, name.encode())

    def open(self, name: str, sealed_content: bytes) -> bytes:
        """Decrypt the content of the file ``name``; raises :class:`DamagedArchive`."""
        nonce, rest = sealed_content[:_NONCE_BYTES], sealed_content[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, name.encode())
        except (InvalidTag, ValueError):
            raise DamagedArchive(f"{name} cannot be decrypted") from None

    def proof(self) -> bytes:
        """Return what shows later whether a passphrase is this one."""
        return self.seal(_CHECK, b"")

    def check(self, proof: bytes) -> None:
        """Raise :class:`BackupError` unless the proof was made with the same passphrase."""
        try:
            self.open(_CHECK, proof)
        except DamagedArchive:
            raise BackupError("BACKUP_PASSPHRASE is not the one of this backup") from None
