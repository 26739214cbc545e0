"""Make and read recovery codes, which stand in for a second factor that is lost, once each.

A code has 80 random bits in four groups, such as ``7k2p-94wx-mq0t-zd5h``, in digits and letters
that nobody confuses. It is stored as the SHA-256 of the user's id and the code.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

COUNT: Final = 10

# Crockford's base 32: without i, l, o and u
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_GROUPS, _GROUP = 4, 4
_READ_AS = str.maketrans({"i": "1", "l": "1", "o": "0", "-": "", " ": ""})


def draw() -> list[str]:
    """Draw the ten codes of a user."""
    return [_code() for _ in range(COUNT)]


def digest(user_id: str, code: str) -> str:
    """Return what a code is stored as; case, hyphens and spaces do not count."""
    plain = code.lower().translate(_READ_AS)
    return hashlib.sha256(f"{user_id}#{plain}".encode()).hexdigest()


def _code() -> str:
    return "-".join("".join(secrets.choice(_DIGITS) for _ in range(_GROUP)) for _ in range(_GROUPS))
