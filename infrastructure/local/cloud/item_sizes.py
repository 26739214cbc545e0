"""Measure items as DynamoDB does, and find what it might refuse.

Source: "DynamoDB item sizes and formats" in the developer guide. The size of a number is taken as
that of its digits, two in a byte, which may be one byte more than DynamoDB's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infrastructure.local.cloud.table_keys import Unusual

#: The largest item, in bytes
LARGEST_ITEM = 400 << 10
_DEEPEST = 30
# As DynamoDB returns a number: others are to be brought into this form first
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,37})|-?(?:0|[1-9][0-9]{0,18})\.[0-9]{0,17}[1-9]")


def item_size(item: Mapping[str, Any]) -> int:
    """Return the bytes of an item; raises :class:`Unusual`."""
    size = _members_size(item, 0)
    if size > LARGEST_ITEM:
        raise Unusual
    return size


def _members_size(members: Mapping[str, Any], depth: int) -> int:
    size = 0
    for name, value in members.items():
        size += len(name) if name.isascii() else _text_size(name)
        text = value.get("S") if isinstance(value, dict) and len(value) == 1 else None
        # Most are text of this kind
        if isinstance(text, str) and text.isascii():
            size += len(text)
        else:
            size += _size(value, depth)
    return size


def _size(value: Any, depth: int) -> int:
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEEPEST:
        raise Unusual
    ((kind, content),) = value.items()
    measure = _MEASURES.get(kind)
    if measure is None:
        raise Unusual
    return measure(content, depth)


def _text_size(text: Any) -> int:
    if not isinstance(text, str):
        raise Unusual
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Unusual from None


def _number_size(content: Any) -> int:
    if not isinstance(content, str) or not _NUMBER.fullmatch(content) or content == "-0":
        raise Unusual
    return 1 + (len(content) + 1) // 2


def _binary_size(content: Any) -> int:
    if not isinstance(content, str) or len(content) % 4:
        raise Unusual
    return len(content) * 3 // 4 - content.count("=", -2)


def _map_size(content: Any, depth: int) -> int:
    if not isinstance(content, dict):
        raise Unusual
    return 3 + len(content) + _members_size(content, depth + 1)


def _list_size(content: Any, depth: int) -> int:
    if not isinstance(content, list):
        raise Unusual
    return 3 + sum(1 + _size(each, depth + 1) for each in content)


def _set_size(measure: Any) -> Any:
    def size(content: Any, _: int) -> int:
        if not isinstance(content, list) or not content or len(set(content)) < len(content):
            raise Unusual
        return sum(map(measure, content))

    return size


def _flag_size(content: Any, _: int) -> int:
    if not isinstance(content, bool):
        raise Unusual
    return 1


def _null_size(content: Any, _: int) -> int:
    if content is not True:
        raise Unusual
    return 1


_MEASURES: dict[str, Any] = {
    "S": lambda content, _: _text_size(content),
    "N": lambda content, _: _number_size(content),
    "B": lambda content, _: _binary_size(content),
    "BOOL": _flag_size,
    "NULL": _null_size,
    "M": _map_size,
    "L": _list_size,
    "SS": _set_size(_text_size),
    "NS": _set_size(_number_size),
    "BS": _set_size(_binary_size),
}
