"""Draw and read the tokens of links that are mailed to users.

A token is ``<id of the user>.<secret>``. The user holds the SHA-256 of the last one of each
purpose, so that a newer one replaces it, and using it up removes it.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from chalicelib.core import clock
from chalicelib.core.errors import NotFound
from chalicelib.core.settings import settings
from chalicelib.users.model import MailedLink, digest, draw_secret

INVITATION: Final = "invitation"
RESET: Final = "reset"

_TOKEN = re.compile(r"([0-9a-f]{20})\.([A-Za-z0-9_-]{43})")


def draw(user_id: str, lifetime: int) -> tuple[str, MailedLink]:
    """Draw a token that works for ``lifetime`` seconds; return it and what the user holds of it."""
    secret = draw_secret()
    return f"{user_id}.{secret}", MailedLink(digest(secret), clock.now() + lifetime)


def user_of(token: str) -> str:
    """Return the id of the user that a token names; raises 404 if it is none."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise not_found()
    return match[1]


def check(link: MailedLink | None, token: str) -> None:
    """Raise 404 unless ``link`` is that of the token and still works."""
    secret = token.partition(".")[2]
    works = (
        link is not None
        and clock.now() < link.expires
        and hmac.compare_digest(link.digest, digest(secret))
    )
    if not works:
        raise not_found()


def url_of(purpose: str, token: str) -> str:
    """Return the link: the host is that of the setting, whatever a request says."""
    return f"{settings().public_url.rstrip('/')}/console/#{purpose}={token}"


def not_found() -> NotFound:
    """Return the one refusal of links that were used, are over or never were."""
    return NotFound("the link was used already, is too old, or never existed")
