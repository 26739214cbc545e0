"""Read the login of a request with HTTP Basic (RFC 7617)."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple


class BasicLogin(NamedTuple):
    """A name and a password, as a client sends them."""

    name: str
    password: str


def read_login(authorization: str) -> BasicLogin | None:
    """Return the login of an ``Authorization`` value, ``None`` if it is no Basic one."""
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(credentials.strip(), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
    name, _, password = text.partition(":")
    return BasicLogin(name, password)
