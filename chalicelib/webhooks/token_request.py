"""Request an access token from a token server (spec 5.8, RFC 6749 4.4).

The details are posted as a form, and as JSON to a server that refuses forms. They are posted
exactly as the customer wrote them, because the customer knows what the server wants, such as
``grant_type``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import web_fetch
from chalicelib.core.settings import settings
from chalicelib.core.web_fetch import Response
from chalicelib.webhooks.credentials import Credentials

_REFUSES_FORMS = (400, 415, 422)
_DIGITS = re.compile("[0-9]{1,10}")
_LONGEST_LIFETIME = 10 * 365 * 86_400


class TokenRefused(Exception):
    """The server gave no token. ``response`` is the server's response, if there was one."""

    def __init__(self, text: str, response: Response | None = None) -> None:
        super().__init__(text)
        self.response = response


def request_token(credentials: Credentials) -> tuple[str, int | None]:
    """Return a token and its lifetime in seconds, if stated; raises :class:`TokenRefused`."""
    response = _post(credentials, form=True)
    if response.status in _REFUSES_FORMS:
        response = _post(credentials, form=False)
    if not 200 <= response.status < 300:
        raise TokenRefused(f"the server answered with status {response.status}", response)
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        content = None
    value = content.get("access_token") if isinstance(content, dict) else None
    if not isinstance(value, str) or not value or not (value.isascii() and value.isprintable()):
        raise TokenRefused("the answer holds no access_token", response)
    return value, _lifetime(content.get("expires_in"))


def _post(credentials: Credentials, *, form: bool) -> Response:
    content = credentials.token_body
    body = urlencode(_form_fields(content)) if form else json.dumps(content)
    media_type = "application/x-www-form-urlencoded" if form else "application/json"
    headers = {"Content-Type": media_type, "Accept": "application/json"}
    try:
        return web_fetch.post(
            credentials.token_url, body.encode(), headers, timeout=settings().webhook_timeout
        )
    except web_fetch.FetchFailed as error:
        raise TokenRefused(str(error)) from error


def _form_fields(content: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in content.items()
    }


def _lifetime(expires_in: Any) -> int | None:
    """Return ``expires_in`` in whole seconds; without a usable one the target decides."""
    if isinstance(expires_in, str) and not _DIGITS.fullmatch(expires_in):
        return None
    try:
        return max(0, min(int(expires_in), _LONGEST_LIFETIME))
    except (TypeError, ValueError, OverflowError):
        return None
