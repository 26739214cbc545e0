"""One POST to a webhook's target: its headers, its signature, its token (spec 5.8, 6)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from chalicelib.core import clock, web_fetch
from chalicelib.core.settings import settings
from chalicelib.webhooks import oauth, signatures
from chalicelib.webhooks.credentials import Credentials, open_sealed
from chalicelib.webhooks.model import BASIC, OAUTH2, Webhook
from chalicelib.webhooks.names import names
from chalicelib.webhooks.token_request import TokenRefused

_OK = 200
_REFUSED_TOKEN = (400, 401)
_USER_AGENT = "Postfinch"

#: ``failure_code`` where no token was given
NO_TOKEN = "ETOKEN"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a POST. ``status`` is ``None`` where there was no response, and ``failure_code``
    then says why in one word and ``reason`` in more. ``latency`` is milliseconds.
    """

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure_code: str = ""
    reason: str = ""
    latency: int = 0

    @property
    def is_taken(self) -> bool:
        """Tell whether the target took the batch (spec 6.3)."""
        return self.status == _OK


def post(webhook: Webhook, batch_id: str, body: bytes) -> Answer:
    """Post a batch once, or twice where the target refuses an OAuth token that it took before."""
    credentials = open_sealed(webhook.sealed, webhook.id)
    if webhook.auth_type != OAUTH2:
        return _posted(webhook, credentials, batch_id, body, _authorization(webhook, credentials))
    try:
        token = oauth.token_for(webhook.id, credentials)
        answer = _posted(webhook, credentials, batch_id, body, f"Bearer {token.value}")
        if answer.status not in _REFUSED_TOKEN:
            return answer
        token = oauth.token_instead_of(token, webhook.id, credentials)
    except TokenRefused as error:
        return Answer(None, failure_code=NO_TOKEN, reason=str(error))
    return _posted(webhook, credentials, batch_id, body, f"Bearer {token.value}")


def _posted(
    webhook: Webhook, credentials: Credentials, batch_id: str, body: bytes, authorization: str
) -> Answer:
    headers = _headers(credentials, batch_id, body, authorization)
    began = time.monotonic()
    try:
        found = web_fetch.post(webhook.target, body, headers, timeout=settings().webhook_timeout)
    except web_fetch.FetchFailed as error:
        return Answer(None, failure_code=error.code, reason=str(error), latency=_since(began))
    return Answer(found.status, found.headers, found.body, latency=_since(began))


def _headers(
    credentials: Credentials, batch_id: str, body: bytes, authorization: str
) -> dict[str, str]:
    called = names()
    own = {
        "Content-Type": "application/json",
        called.batch_id: batch_id,
        **signatures.headers(credentials.signing, batch_id, body, clock.now_ms()),
    }
    if authorization:
        own["Authorization"] = authorization
    if credentials.auth_token:
        own[called.token] = credentials.auth_token
    return {"User-Agent": _USER_AGENT} | _given(credentials) | own


def _given(credentials: Credentials) -> dict[str, str]:
    """Return the custom headers, with the one that we set by default spelled as we do."""
    return {
        "User-Agent" if name.lower() == "user-agent" else name: value
        for name, value in credentials.headers.items()
    }


def _authorization(webhook: Webhook, credentials: Credentials) -> str:
    if webhook.auth_type != BASIC:
        return ""
    pair = f"{credentials.username}:{credentials.password}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
