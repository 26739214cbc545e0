"""Signatures by which a target knows that a batch is ours and of now (standardwebhooks.com).

``webhook-signature`` holds one signature for each secret in use, so that a target can be given a
new secret before or after ours changes. What is signed is id, time and body of the request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

from chalicelib.core.settings import settings
from chalicelib.webhooks.credentials import SigningSecret

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")

#: Secrets in use at a time, at most: each makes the header longer, which servers bound
MOST: Final = 5

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def draw_secret() -> str:
    """Draw a secret."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def rotated(signing: Iterable[SigningSecret], new: str, now_ms: int) -> tuple[SigningSecret, ...]:
    """Return the secrets in use once ``new`` replaces the current one, the newest ``MOST``."""
    until = now_ms + int(settings().webhook_secret_overlap * 1000)
    kept = [each for each in signing if each.until_ms is None or each.until_ms > now_ms]
    replaced = [SigningSecret(each.secret, each.until_ms or until) for each in kept]
    return (SigningSecret(new), *replaced)[:MOST]


def headers(
    signing: Iterable[SigningSecret], batch_id: str, body: bytes, now_ms: int
) -> dict[str, str]:
    """Return the headers that sign a request made now; none if there is no secret."""
    used = [each for each in signing if each.until_ms is None or each.until_ms > now_ms]
    if not used:
        return {}
    at = str(now_ms // 1000)
    signed = b".".join([batch_id.encode(), at.encode(), body])
    given = " ".join(f"v1,{_signature(each.secret, signed)}" for each in used)
    return dict(zip(HEADERS, (batch_id, at, given), strict=True))


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
