"""Check the ``custom_headers`` that a customer adds to each POST (spec 2.10).

A custom header must not end another header, change the routing or length of the message, or replace
a header that the service sets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.webhooks import signatures
from chalicelib.webhooks.names import NEUTRAL, VENDOR

MOST: Final = 5
MOST_BYTES: Final = 3000

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110 5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e]*")

AUTHORIZATION: Final = "authorization"
_RESERVED = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        *signatures.HEADERS,
        *(name.lower() for names in (NEUTRAL, VENDOR) for name in (names.batch_id, names.token)),
    }
)


def fault(headers: Any, bytes_below: int = MOST_BYTES) -> str:
    """Return what is wrong with a value of ``custom_headers``, empty if nothing is.

    Names and values must have fewer than ``bytes_below`` bytes in all.
    """
    if not isinstance(headers, Mapping):
        return "custom_headers must be an object"
    if not all(isinstance(value, str) for value in headers.values()):
        return "custom_headers must hold strings"
    if len(headers) > MOST:
        return f"custom_headers must have at most {MOST} entries"
    size = sum(len(name.encode()) + len(value.encode()) for name, value in headers.items())
    if size >= bytes_below:
        return f"custom_headers must be less than {bytes_below} bytes in all"
    if len({name.lower() for name in headers}) < len(headers):
        return "custom_headers: a name is given twice"
    return next(filter(None, map(_fault_of, headers, headers.values())), "")


def _fault_of(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        return f"custom_headers: {name!r} is no header name"
    if name.lower() in _RESERVED or name.lower().startswith("proxy-"):
        return f"custom_headers: {name} is set by the service"
    if not _VALUE.fullmatch(value):
        return f"custom_headers: the value of {name} must be printable ASCII on one line"
    return ""
