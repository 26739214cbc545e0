"""Make and read the cookie of a session, and the token of its changes.

The cookie holds the account, the user and a random secret, so that one request reads the session,
its user and the account.

Every change by cookie sends the session's token against forged requests in ``X-CSRF-Token``. It is
derived from the session, so it is nowhere stored.
"""

from __future__ import annotations

import hmac
import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from chalicelib.core import signing
from chalicelib.core.settings import settings
from chalicelib.users.model import User, digest

CSRF_HEADER: Final = "x-csrf-token"

_CSRF = "forged requests"
_COOKIE = re.compile(r"([0-9]{1,10})\.([0-9a-f]{20})\.([A-Za-z0-9_-]{43})")


class Presented(NamedTuple):
    """What a cookie names: an account, a user and a session."""

    account_id: int
    user_id: str
    session_id: str


class Cookie(NamedTuple):
    """The name of the session's cookie and its attributes."""

    name: str
    attributes: str


def session_cookie() -> Cookie:
    """Return how the cookie is called where the service is reached at ``PUBLIC_URL``.

    Over https, browsers guarantee for a name that begins with ``__Host-`` that this host set it,
    for all of its paths. Behind a path, such as that of a stage of API Gateway, other stages share
    the host: there the path is in the cookie (RFC 6265bis 4.1.3).
    """
    return named_cookie("session")


def named_cookie(name: str) -> Cookie:
    """Return a cookie with the prefix and the attributes that fit ``PUBLIC_URL``."""
    url = urlsplit(settings().public_url)
    path = url.path.rstrip("/") or "/"
    attributes = f"Path={path}; HttpOnly; SameSite=Lax"
    if url.scheme != "https":
        return Cookie(name, attributes)
    prefix = "__Host-" if path == "/" else "__Secure-"
    return Cookie(f"{prefix}{name}", f"{attributes}; Secure")


def set_cookie(user: User, secret: str) -> str:
    """Return the value of ``Set-Cookie`` that makes a browser keep a session."""
    name, attributes = session_cookie()
    return f"{name}={user.account_id}.{user.id}.{secret}; {attributes}"


def clear_cookie() -> str:
    """Return the value of ``Set-Cookie`` that makes a browser forget its session."""
    name, attributes = session_cookie()
    return f"{name}=; {attributes}; Max-Age=0"


def read_cookie(text: str) -> Presented | None:
    """Return what a cookie names, or ``None`` for a text that is none of ours."""
    match = _COOKIE.fullmatch(text)
    return Presented(int(match[1]), match[2], digest(match[3])) if match else None


def csrf_token(session_id: str) -> str:
    """Return what every change by this session's cookie sends in ``X-CSRF-Token``."""
    return signing.tag_text(session_id.encode(), _CSRF)


def is_csrf_token(session_id: str, text: str) -> bool:
    """Tell, in constant time, whether ``text`` is the session's token."""
    return hmac.compare_digest(csrf_token(session_id).encode(), text.encode(errors="replace"))
