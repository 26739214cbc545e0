"""Verify the signature of a request to the local cloud (AWS Signature Version 4).

Source: "Create a signed AWS API request" in the IAM user guide. What differs from AWS:

- Any access key id may sign, with the one secret. MiniStack's functions use the account's number.
- The time of the signature is not compared with the clock. The secret lives as long as the process,
  and a clock that jumps must not refuse requests.
- A payload hash in ``x-amz-content-sha256`` is part of what was signed, whether it is a hash,
  ``UNSIGNED-PAYLOAD`` or a form of streaming. It is not compared with the body: the signature tells
  who sends, and nothing on a loopback port changes the body on its way.
"""

from __future__ import annotations

import hmac
import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALGORITHM = b"AWS4-HMAC-SHA256"

_AUTHORIZATION = re.compile(
    rb"AWS4-HMAC-SHA256 +Credential=([^/,\s]{1,128})/([0-9]{8})/([^/,\s]{1,64})/([^/,\s]{1,64})"
    rb"/aws4_request, *SignedHeaders=([a-z0-9;_-]{1,2000}), *"
)
_TIME = re.compile(rb"[0-9]{8}T[0-9]{6}Z")


class _Signer(NamedTuple):
    """The part of an ``Authorization`` value that is the same for many requests."""

    access_key: bytes
    date: bytes
    region: bytes
    service: bytes
    names: tuple[bytes, ...]

    @property
    def scope(self) -> bytes:
        """Return the credential scope without the key's id."""
        return b"%b/%b/%b/aws4_request" % (self.date, self.region, self.service)


class Claim(NamedTuple):
    """A signature that a request carries, still unverified. ``time`` is its ``x-amz-date``."""

    signer: _Signer
    signature: bytes
    time: bytes
    payload_hash: bytes

    @property
    def needs_body(self) -> bool:
        """Tell whether the body must be read for :func:`verify`."""
        return not self.payload_hash


def claim_of(headers: Sequence[tuple[bytes, bytes]]) -> Claim | None:
    """Return the signature in a request's headers, or ``None`` without a well-formed one."""
    values = dict(headers)
    authorization = values.get(b"authorization", b"")
    prefix, _, signature = authorization.rpartition(b"Signature=")
    signer = _signer(prefix)
    time = values.get(b"x-amz-date", b"")
    if signer is None or len(signature) != 64 or not _TIME.fullmatch(time):
        return None
    return Claim(signer, signature, time, values.get(b"x-amz-content-sha256", b""))


def verify(claim: Claim, scope: Mapping[str, Any], body: bytes, secret: str) -> bool:
    """Tell whether the holder of ``secret`` signed the request; ``scope`` is that of ASGI.

    ``body`` counts only if the claim needs it.
    """
    signer = claim.signer
    payload_hash = claim.payload_hash or sha256(body).hexdigest().encode()
    request = _canonical_request(signer, scope, payload_hash)
    text = b"%b\n%b\n%b\n%b" % (
        ALGORITHM,
        claim.time,
        signer.scope,
        sha256(request).hexdigest().encode(),
    )
    key = _signing_key(secret, signer.date, signer.region, signer.service)
    expected = hmac.digest(key, text, "sha256").hex().encode()
    return hmac.compare_digest(expected, claim.signature)


def _canonical_request(signer: _Signer, scope: Mapping[str, Any], payload_hash: bytes) -> bytes:
    values = _header_values(scope["headers"])
    lines = [
        scope["method"].encode(),
        _canonical_path(scope["raw_path"], signer.service),
        _canonical_query(scope["query_string"]),
        *[b"%b:%b" % (name, values.get(name, b"")) for name in signer.names],
        b"",
        b";".join(signer.names),
        payload_hash,
    ]
    return b"\n".join(lines)


def _header_values(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the values of headers with single spaces, those of a name joined."""
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        if b"  " in value or value[:1].isspace() or value[-1:].isspace():
            value = b" ".join(value.split())
        values[name] = b"%b,%b" % (values[name], value) if name in values else value
    return values


@lru_cache(maxsize=1024)
def _canonical_path(path: bytes, service: bytes) -> bytes:
    """Return the path as it was signed: S3's as it is, others normalized and encoded once more."""
    if service == b"s3":
        return path
    segments: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            segments and segments.pop()
        elif segment not in (b"", b"."):
            segments.append(segment)
    end = b"/" if segments and path.endswith(b"/") else b""
    return quote(b"/" + b"/".join(segments) + end, safe="/~").encode()


def _canonical_query(query: bytes) -> bytes:
    if not query:
        return b""
    pairs = sorted(pair.partition(b"=")[::2] for pair in query.split(b"&"))
    return b"&".join(b"%b=%b" % pair for pair in pairs)


@lru_cache(maxsize=256)
def _signer(prefix: bytes) -> _Signer | None:
    match = _AUTHORIZATION.fullmatch(prefix)
    if match is None:
        return None
    access_key, date, region, service, names = match.groups()
    return _Signer(access_key, date, region, service, tuple(names.split(b";")))


@lru_cache(maxsize=64)
def _signing_key(secret: str, date: bytes, region: bytes, service: bytes) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in (date, region, service, b"aws4_request"):
        key = hmac.digest(key, part, "sha256")
    return key
