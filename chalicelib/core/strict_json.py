"""Parse a request body as JSON: RFC 8259, UTF-8, numbers within a signed 32-bit range (spec 1.6).

``loads`` takes unchecked bytes and raises only public errors: 400 with code 1305 when the bytes are
not UTF-8, 422 with code 1300 for everything else. A byte order mark is ignored. Of equal keys in an
object the last one wins.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from chalicelib.core.errors import ApiError, bad_format, not_utf8

MAX_DEPTH = 64
LOWEST, HIGHEST = -(2**31), 2**31 - 1

_SURELY_SMALL = 10  # a number with fewer characters is always within range
_MAX_DIGITS = 11  # of "-2147483648"; a longer number is refused without converting it
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTAINERS = frozenset({dict, list})
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def loads(raw: bytes) -> Any:
    """Parse a request body; raises ``ApiError``."""
    try:
        value = _DECODER.decode(_text(raw))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise bad_format(f"Problems parsing request as json: {error.msg} at {place}") from None
    except RecursionError:
        raise _too_deep() from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if _SURROGATE_ESCAPE.search(raw):
        _check_surrogates(value)
    return value


def _text(raw: bytes) -> str:
    try:
        return raw.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(f"the request body is not UTF-8 at byte {error.start}") from None


def _integer(digits: str) -> int:
    if len(digits) < _SURELY_SMALL:
        return int(digits)
    if len(digits) > _MAX_DIGITS or not LOWEST <= (number := int(digits)) <= HIGHEST:
        raise _out_of_range(digits)
    return number


def _fraction(digits: str) -> float:
    number = float(digits)
    if -2147483648.0 <= number <= 2147483647.0:
        return number
    raise _out_of_range(digits)


def _constant(name: str) -> NoReturn:
    raise bad_format(f"Problems parsing request as json: {name} is not a JSON value")


def _out_of_range(digits: str) -> ApiError:
    beginning = digits if len(digits) <= 24 else digits[:24] + "..."
    return bad_format(f"number '{beginning}' is outside the range of a signed 32-bit integer")


def _check_depth(value: Any) -> None:
    """Walk level by level: each round keeps only the containers of the next level."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if type(container) is dict else container)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ApiError:
    return bad_format(f"Problems parsing request as json: nested more than {MAX_DEPTH} levels deep")


def _check_surrogates(value: Any) -> None:
    # Half of a surrogate pair is no character: no store and no message can encode it.
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise bad_format(
            "Problems parsing request as json: \\u escape of half a surrogate pair"
        ) from None


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_constant)
