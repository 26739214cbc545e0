"""Read what the user chose about the webhook that tells of new mail.

======================== ======= ===================================================================
MAILPIT_WEBHOOK                  a URL to which the summary of each new message is posted
MAILPIT_WEBHOOK_INTERVAL 1       the least number of seconds between two messages that are told;
                                 those that come sooner are not told; 0: every message is
MAILPIT_WEBHOOK_DELAY    0       how many seconds a message waits before it is told
======================== ======= ===================================================================
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

URL = "MAILPIT_WEBHOOK"

_MOST_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class WebhookChoices:
    """The choices; ``authorization`` is the header for the login of the URL, empty without one."""

    url: str
    authorization: str = field(default="", repr=False)
    interval: int = 1
    delay: int = 0

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> WebhookChoices | None:
        """Return the choices of an environment, ``None`` without a URL; raises ValueError."""
        text = environ.get(URL, "").strip()
        if not text:
            return None
        url, authorization = _without_login(text)
        return cls(
            url,
            authorization,
            interval=_seconds(environ, f"{URL}_INTERVAL", "1"),
            delay=_seconds(environ, f"{URL}_DELAY", "0"),
        )


def _without_login(text: str) -> tuple[str, str]:
    # Imported here: without a webhook no start needs it
    from chalicelib.core import web_address

    try:
        parts = urlsplit(text)
        login, _, host = parts.netloc.rpartition("@")
        url = parts._replace(netloc=host).geturl()
        web_address.read(url)
    except ValueError as error:
        raise ValueError(f"{URL} is no URL to post to: {error}") from None
    if not login:
        return url, ""
    credentials = base64.b64encode(unquote(login).encode()).decode("ascii")
    return url, f"Basic {credentials}"


def _seconds(environ: Mapping[str, str], name: str, default: str) -> int:
    text = environ.get(name) or default
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    if not is_number or int(text) > _MOST_SECONDS:
        raise ValueError(f"{name}={text!r} is not a whole number of seconds up to a day")
    return int(text)
