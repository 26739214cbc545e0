"""Know the browsers that a user has signed in with, by a signed cookie of their own.

The cookie names a user and a device and allows nothing by itself: it only keeps others from
delaying the user's sign-ins (``throttle``).
"""

from __future__ import annotations

import secrets
from typing import Final

from chalicelib.core import signing
from chalicelib.core.request import Request
from chalicelib.users import cookies
from chalicelib.users.model import User

_NAME: Final = "device"
_LIFETIME = 365 * 86_400
_PURPOSE = "device of a user"


def device_of(request: Request, user: User | None) -> str:
    """Return the id of a browser that the user has signed in with, or ``""``."""
    if user is None:
        return ""
    try:
        user_id, device = signing.from_token(
            request.cookie(cookies.named_cookie(_NAME).name), _PURPOSE
        )
    except signing.BadSignature:
        return ""
    return str(device) if user_id == user.id else ""


def set_cookie(request: Request, user: User) -> str:
    """Return the value of ``Set-Cookie`` that makes a browser known for a year."""
    name, attributes = cookies.named_cookie(_NAME)
    device = device_of(request, user) or secrets.token_hex(8)
    token = signing.to_token([user.id, device], _PURPOSE)
    return f"{name}={token}; {attributes}; Max-Age={_LIFETIME}"
