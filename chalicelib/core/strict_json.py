"""Parse a request body as JSON: RFC 8259, UTF-8, numbers within a signed 32-bit range (spec 1.6).

``loads`` takes unchecked bytes and raises only public errors: 400 with code 1305 when the bytes are
not UTF-8, 422 with code 1300 for everything else. A byte order mark is ignored. Of equal keys in an
object the last one wins.

pydantic's parser reads the body, in a third of the time, and :func:`_is_plain` checks what came of
it. A body that either refuses is parsed again by Python's own parser, whose errors say what is
wrong, and where.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from pydantic_core import from_json

from chalicelib.core.errors import ApiError, bad_format, not_utf8

MAX_DEPTH = 64
LOWEST, HIGHEST = -(2**31), 2**31 - 1

_SURELY_SMALL = 10  # a number with fewer characters is always within range
_MAX_DIGITS = 11  # of "-2147483648"; a longer number is refused without converting it
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTAINERS = frozenset({dict, list})
_NUMBERS = frozenset({int, float})
_BLOCK = 256  # containers whose values the processor's cache holds until they are checked
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def loads(raw: bytes) -> Any:
    """Parse a request body; raises ``ApiError``."""
    raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        value = from_json(raw, allow_inf_nan=False, cache_strings="keys")
        if _is_plain(value, raw):
            return value
        del value  # so that no two are held
    except ValueError:
        pass
    return _parse_strictly(raw)


def _is_plain(value: Any, raw: bytes) -> bool:
    """Tell whether a value keeps the limits, and is all that the body holds.

    Of equal keys only the last value is here; the strict parser judges the others, too. A body with
    such keys has more texts than its value.
    """
    texts = 0
    blocks: list[tuple[int, list[Any]]] = [(0, [[value]])]
    while blocks:
        depth, block = blocks.pop()
        if depth > MAX_DEPTH:
            return False
        objects = [each for each in block if type(each) is dict]
        arrays = [each for each in block if type(each) is list]
        # Most values are texts: nothing is done with them
        inner = [each for each in objects for each in each.values() if type(each) is not str]
        inner += [each for each in arrays for each in each if type(each) is not str]
        texts += 2 * sum(map(len, objects)) + sum(map(len, arrays)) - len(inner)
        numbers = [each for each in inner if type(each) in _NUMBERS]
        if numbers and not (min(numbers) >= LOWEST and max(numbers) <= HIGHEST):
            return False
        containers = [each for each in inner if type(each) in _CONTAINERS]
        starts = range(0, len(containers), _BLOCK)
        blocks += [(depth + 1, containers[start : start + _BLOCK]) for start in starts]
    return 2 * texts == _quotes(raw)


def _quotes(raw: bytes) -> int:
    """Count the quotes that begin and end the texts of a well-formed body, keys among them."""
    escapes = raw[raw.find(b"\\") : raw.rfind(b"\\") + 2] if b"\\" in raw else b""
    return raw.count(b'"') - escapes.replace(b"\\\\", b"").count(b'\\"')


def _parse_strictly(raw: bytes) -> Any:
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
        return raw.decode("utf-8")
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
