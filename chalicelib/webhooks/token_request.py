"""Asking a token server for an access token (spec 5.8, RFC 6749 4.4).

The details are posted as a form, and as JSON to a server that refuses that. They are posted as they
were given: what the server wants to be told, such as ``grant_type``, is for the customer to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import web_fetch
from chalicelib.core.settings import settings
from chalicelib.core.web_fetch import Response
from chalicelib.webhooks.credentials import Credentials

_REFUSES_FORMS = (400, 415, 422)
_LONGEST_LIFETIME = 10 * 365 * 86_400


class TokenRefused(Exception):
    """No token was given. ``response`` is the server's, if there was one."""

    def __init__(self, text: str, response: Response | None = None) -> None:
        super().__init__(text)
        self.response = response


def ask(credentials: Credentials) -> tuple[str, int | None]:
    """Return a token and the seconds it lasts, as far as told; raises :class:`TokenRefused`."""
    answer = _post(credentials, form=True)
    if answer.status in _REFUSES_FORMS:
        answer = _post(credentials, form=False)
    if not 200 <= answer.status < 300:
        raise TokenRefused(f"the server answered with status {answer.status}", answer)
    try:
        given = json.loads(answer.body)
    except (ValueError, RecursionError):
        given = None
    value = given.get("access_token") if isinstance(given, dict) else None
    if not isinstance(value, str) or not value or not (value.isascii() and value.isprintable()):
        raise TokenRefused("the answer holds no access_token", answer)
    return value, _lifetime(given.get("expires_in"))


def _post(credentials: Credentials, *, form: bool) -> Response:
    content = credentials.token_body
    body = urlencode(_plain(content)) if form else json.dumps(content)
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    headers = {"Content-Type": kind, "Accept": "application/json"}
    try:
        return web_fetch.post(
            credentials.token_url, body.encode(), headers, timeout=settings().webhook_timeout
        )
    except web_fetch.FetchFailed as error:
        raise TokenRefused(str(error)) from error


def _plain(content: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in content.items()
    }


def _lifetime(given: Any) -> int | None:
    """Return ``expires_in`` as whole seconds; without a usable one a token serves until refused."""
    try:
        return max(0, min(int(given), _LONGEST_LIFETIME))
    except (TypeError, ValueError, OverflowError):
        return None
