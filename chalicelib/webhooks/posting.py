"""Post a batch to a webhook's target once, with its headers, signature and token (spec 5.8, 6)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from chalicelib.core import clock, web_fetch
from chalicelib.core.settings import settings
from chalicelib.core.spool import Body
from chalicelib.webhooks import oauth, signatures
from chalicelib.webhooks.credentials import Credentials, open_sealed
from chalicelib.webhooks.model import BASIC, OAUTH2, Endpoint
from chalicelib.webhooks.names import names
from chalicelib.webhooks.token_request import TokenRefused

_OK = 200
_REFUSED_TOKEN = (400, 401)
_USER_AGENT = "Postfinch"

#: Characters of a refusal that are kept
LONGEST_REFUSAL: Final = 1000
#: Characters of an acceptance that are kept: nobody needs more of "ok"
LONGEST_ACCEPTANCE: Final = 100
#: The ``failure_code`` when the token server gave no token
NO_TOKEN = "ETOKEN"


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of a POST. ``latency`` is in milliseconds.

    Without a response ``status`` is ``None``, ``failure_code`` says why in one word and ``reason``
    in more.
    """

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure_code: str = ""
    reason: str = ""
    latency: int = 0

    @property
    def is_accepted(self) -> bool:
        """Tell whether the target took the batch (spec 6.3)."""
        return self.status == _OK

    @property
    def answer(self) -> str:
        """Return the beginning of the response as text, or why there was none."""
        if self.status is None:
            return self.reason[:LONGEST_REFUSAL]
        longest = LONGEST_ACCEPTANCE if self.is_accepted else LONGEST_REFUSAL
        # A character has at most four bytes, and the last of the bytes may be half a character
        return self.body[: 4 * longest].decode("utf-8", "ignore")[:longest]


def post(webhook: Endpoint, batch_id: str, body: Body) -> PostResult:
    """Post a batch once, or twice where the target refuses an OAuth token that it took before."""
    credentials = open_sealed(webhook.sealed, webhook.id)
    if webhook.auth_type != OAUTH2:
        return _post(webhook, credentials, batch_id, body, _authorization(webhook, credentials))
    try:
        token = oauth.token_for(webhook.id, credentials)
        result = _post(webhook, credentials, batch_id, body, f"Bearer {token.value}")
        if result.status not in _REFUSED_TOKEN:
            return result
        token = oauth.token_instead_of(token, webhook.id, credentials)
    except TokenRefused as error:
        return PostResult(None, failure_code=NO_TOKEN, reason=str(error))
    return _post(webhook, credentials, batch_id, body, f"Bearer {token.value}")


def _post(
    webhook: Endpoint, credentials: Credentials, batch_id: str, body: Body, authorization: str
) -> PostResult:
    headers = _headers(credentials, batch_id, body, authorization)
    started = time.monotonic()
    try:
        response = web_fetch.post(webhook.target, body, headers, timeout=settings().webhook_timeout)
    except web_fetch.FetchFailed as error:
        latency = _ms_since(started)
        return PostResult(None, failure_code=error.code, reason=str(error), latency=latency)
    latency = _ms_since(started)
    return PostResult(response.status, response.headers, response.body, latency=latency)


def _headers(
    credentials: Credentials, batch_id: str, body: Body, authorization: str
) -> dict[str, str]:
    own = {
        "Content-Type": "application/json",
        names().batch_id: batch_id,
        **signatures.headers(credentials.signing, batch_id, body, clock.now_ms()),
    }
    if authorization:
        own["Authorization"] = authorization
    if credentials.auth_token:
        own[names().token] = credentials.auth_token
    return {"User-Agent": _USER_AGENT} | _custom_headers(credentials) | own


def _custom_headers(credentials: Credentials) -> dict[str, str]:
    """Return the custom headers; a User-Agent is spelled as ours, so that it replaces ours."""
    return {
        "User-Agent" if name.lower() == "user-agent" else name: value
        for name, value in credentials.headers.items()
    }


def _authorization(webhook: Endpoint, credentials: Credentials) -> str:
    if webhook.auth_type != BASIC:
        return ""
    pair = f"{credentials.username}:{credentials.password}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
