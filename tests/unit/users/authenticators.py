"""Authenticators of users: codes by Debian's ``oathtool``, and a passkey in software."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

needs_oathtool = pytest.mark.skipif(
    shutil.which("oathtool") is None, reason="oathtool is not installed (apt-get install oathtool)"
)

_PRESENT, _VERIFIED, _ATTESTED = 0x01, 0x04, 0x40


def code_by_oathtool(secret: str, now: float) -> str:
    """Return the code of a secret (base32) at a time."""
    command = ["oathtool", "--totp", "--base32", f"--now=@{int(now)}", secret]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def base64url(content: bytes) -> str:
    """Return bytes as WebAuthn writes them in JSON."""
    return urlsafe_b64encode(content).decode().rstrip("=")


def from_base64url(text: str) -> bytes:
    """Return the bytes of :func:`base64url`."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class SoftwarePasskey:
    """A passkey with ES256, which answers for any page: browsers would not."""

    origin: str = "http://localhost:8080"
    host: str = "localhost"
    verifies: bool = True
    count: int = 0
    id: bytes = b"credential-of-test"
    user_handle: bytes = b""
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer creation options as ``navigator.credentials.create`` does."""
        self.user_handle = from_base64url(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        public_key = cbor2.dumps({1: 2, 3: -7, -1: 1, **point})
        data = self._data(_ATTESTED) + bytes(16) + struct.pack(">H", len(self.id)) + self.id
        attestation = {"fmt": "none", "attStmt": {}, "authData": data + public_key}
        client = self._client("webauthn.create", options["challenge"])
        return self._answer(client, attestationObject=base64url(cbor2.dumps(attestation)))

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer request options as ``navigator.credentials.get`` does."""
        self.count += 1
        client = self._client("webauthn.get", options["challenge"])
        data = self._data(0)
        signed = data + hashlib.sha256(client).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        return self._answer(
            client,
            authenticatorData=base64url(data),
            signature=base64url(signature),
            userHandle=base64url(self.user_handle),
        )

    def _data(self, flags: int) -> bytes:
        flags |= _PRESENT | (_VERIFIED if self.verifies else 0)
        return hashlib.sha256(self.host.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _client(self, kind: str, challenge: str) -> bytes:
        fields = {"type": kind, "challenge": challenge, "origin": self.origin}
        return json.dumps(fields).encode()

    def _answer(self, client: bytes, **response: str) -> dict[str, Any]:
        return {
            "id": base64url(self.id),
            "rawId": base64url(self.id),
            "type": "public-key",
            "response": {"clientDataJSON": base64url(client), **response},
        }
