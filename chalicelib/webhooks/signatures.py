"""Sign batches, so that a target can tell that they are genuine and recent (standardwebhooks.com).

``webhook-signature`` holds one signature for each secret in use, so that the target may change to a
new secret before or after the service does. The signature covers id, time and body of the request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from chalicelib.core.settings import settings
from chalicelib.core.spool import Body, body_pieces
from chalicelib.webhooks.credentials import Credentials, SigningSecret

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")

#: Most secrets in use at a time: each makes the header longer, and servers limit that
MOST: Final = 5

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def draw_secret() -> str:
    """Draw a secret."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def rotated(credentials: Credentials, new: str, now_ms: int) -> Credentials:
    """Return credentials in which ``new`` replaces the current secret; the newest ``MOST`` stay."""
    until = now_ms + int(settings().webhook_secret_overlap * 1000)
    in_use = _in_use(credentials.signing, now_ms)
    former = [SigningSecret(each.secret, each.until_ms or until) for each in in_use]
    return replace(credentials, signing=(SigningSecret(new), *former)[:MOST])


def headers(
    signing: Iterable[SigningSecret], batch_id: str, body: Body, now_ms: int
) -> dict[str, str]:
    """Return the headers that sign a request at ``now_ms``; none if there is no secret."""
    secrets_in_use = _in_use(signing, now_ms)
    if not secrets_in_use:
        return {}
    timestamp = str(now_ms // 1000)
    signature = " ".join(
        f"v1,{_signature(s.secret, batch_id, timestamp, body)}" for s in secrets_in_use
    )
    return dict(zip(HEADERS, (batch_id, timestamp, signature), strict=True))


def is_valid(secret: str, request_headers: Mapping[str, str], body: bytes) -> bool:
    """Tell whether one of a request's signatures was made with ``secret``.

    ``request_headers`` have names in lower case. Raises ``ValueError`` for a malformed secret.
    """
    batch_id, timestamp, signature = (request_headers.get(name, "") for name in HEADERS)
    expected = f"v1,{_signature(secret, batch_id, timestamp, body)}"
    return any(
        hmac.compare_digest(expected.encode(), each.encode("utf-8", "surrogatepass"))
        for each in signature.split()
    )


def _in_use(signing: Iterable[SigningSecret], now_ms: int) -> list[SigningSecret]:
    return [s for s in signing if s.until_ms is None or s.until_ms > now_ms]


def _signature(secret: str, batch_id: str, timestamp: str, body: Body) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.new(key, f"{batch_id}.{timestamp}.".encode(), hashlib.sha256)
    for piece in body_pieces(body):
        digest.update(piece)
    return base64.b64encode(digest.digest()).decode()
