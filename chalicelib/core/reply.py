"""Make the reply of a view: a status, headers and a body, which is JSON except from :func:`raw`."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeVar

from chalicelib.core.settings import settings

Value = TypeVar("Value")

#: What every reply tells browsers, unless it has its own: run nothing, load nothing, show it in no
#: frame, guess no type, and tell no other site its URL, which may hold a token
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_JSON = "application/json"
_UNSAFE = re.compile(r"[^\t\x20-\x7e]")
_NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. A ``bytes`` body is sent as it is; any other is sent as JSON."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Values of ``Set-Cookie``
    cookies: Sequence[str] = ()

    def to_gateway(self, request_id: str, *, takes_octets: bool = False) -> dict[str, Any]:
        """Return the API Gateway proxy response; raises ``ValueError`` on an unsafe header.

        API Gateway takes octets in base64. A server that ``takes_octets`` gets them as they are,
        since a large body would be in memory three times over.
        """
        headers = {**SECURITY_HEADERS, **self.headers, "X-Request-ID": request_id}
        for name, value in headers.items():
            if _UNSAFE.search(name) or _UNSAFE.search(value):
                raise ValueError(f"unsafe reply header {name!r}: {value!r}")
        if any(map(_UNSAFE.search, self.cookies)):
            raise ValueError("unsafe reply header Set-Cookie")
        binary = isinstance(self.body, bytes)
        if not binary:
            headers["Content-Type"] = _JSON
        is_encoded = binary and not takes_octets
        if is_encoded:
            body: Any = base64.b64encode(self.body).decode()
        else:
            body = self.body if binary else _dumps(self.body)
        return {
            "statusCode": self.status,
            "headers": headers,
            "multiValueHeaders": {"Set-Cookie": list(self.cookies)} if self.cookies else {},
            "body": body,
            "isBase64Encoded": is_encoded,
        }


def ok(
    results: Any,
    /,
    *,
    status: int = 200,
    headers: Mapping[str, str] = _NO_HEADERS,
    **extra: Any,
) -> Reply:
    """Reply ``{"results": results, **extra}``; ``extra`` are further top-level keys."""
    return Reply(status, {"results": results, **extra}, headers)


def empty(status: int = 200, *, headers: Mapping[str, str] = _NO_HEADERS) -> Reply:
    """Reply without a body.

    With ``VENDOR_ALIAS`` the body of a 200 is ``{}``: the vendor's clients parse it.
    """
    if status == 204:
        return Reply(status, b"", headers)
    body = b"{}" if settings().vendor_alias else b""
    return Reply(status, body, {"Content-Type": _JSON, **headers})


def raw(
    content: bytes,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] = _NO_HEADERS,
) -> Reply:
    """Reply with bytes of any media type."""
    return Reply(status, content, {"Content-Type": content_type, **headers})


def redirect(location: str, *, headers: Mapping[str, str] = _NO_HEADERS) -> Reply:
    """Send the client to ``location``, an absolute URL in ASCII."""
    return Reply(302, b"", {"Location": location, **headers})


def bytes_in_reply(value: Any) -> int:
    """Return what a value takes in a reply of Lambda: JSON as a text within JSON, and a comma."""
    text = _dumps(value)
    return len(text) + text.count('"') + text.count("\\") + 1


def fitting(values: Sequence[Value]) -> Sequence[Value]:
    """Return as many of the first values as a reply has room for.

    Lambda replaces a reply that is too large by a failure, although the request was carried out.
    """
    room = settings().max_reply_bytes
    for number, value in enumerate(values):
        room -= bytes_in_reply(value)
        if room < 0:
            return values[:number]
    return values


def _dumps(body: Any) -> str:
    # ASCII only: text from outside may hold half a surrogate pair, which UTF-8 cannot carry.
    return json.dumps(body, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: Any) -> int | float:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"{type(value).__name__} does not go into a reply")
