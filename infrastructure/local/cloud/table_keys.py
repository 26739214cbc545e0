"""Turn the keys of items into values that SQLite orders as DynamoDB does.

Text is in the order of its UTF-8 bytes, binary keys in that of their bytes. Numbers become bytes in
the order of the numbers (DynamoDB: up to 38 digits, magnitudes of 1E-130 to 9.99E+125).
"""

from __future__ import annotations

from base64 import b64decode
from decimal import Context, Decimal, InvalidOperation
from typing import Any

KeyValue = str | bytes

#: The most bytes of a partition key and of a sort key
LONGEST_PK, LONGEST_SK = 2_048, 1_024
_ZERO = b"\x80"
_DIGITS = 38
_ENOUGH_DIGITS = Context(prec=2 * _DIGITS)
_EXPONENT_OFFSET = 1_000
_TEN = 10
# The surrogates, which have no encoding, stand between these two in the order of characters
_BEFORE_SURROGATES, _AFTER_SURROGATES = "\ud7ff", "\ue000"
_LAST_CHARACTER = "\U0010ffff"
_LAST_BYTE = 255
# In bytes
_LONGEST_CHARACTER = 4


class Unusual(Exception):
    """What MiniStack answers: something that is refused, or that hardly anybody asks for."""


def key_value(kind: str, content: Any) -> KeyValue:
    """Return the value of a key; ``kind`` is ``S``, ``N`` or ``B``, ``content`` as in JSON."""
    if not isinstance(content, str) or not content:
        raise Unusual
    try:
        if kind == "S":
            if not content.isascii():
                content.encode()
            return content
        return b64decode(content, validate=True) if kind == "B" else _number(Decimal(content))
    except (ValueError, InvalidOperation) as error:
        raise Unusual from error


def value_of(attribute: Any, kind: str) -> KeyValue:
    """Return the value of an attribute as a request has it, like ``{"S": "a"}``."""
    if not isinstance(attribute, dict) or len(attribute) != 1 or kind not in attribute:
        raise Unusual
    return key_value(kind, attribute[kind])


def is_longer(value: KeyValue, most: int) -> bool:
    """Tell whether a key has more bytes than so many."""
    size = len(value)
    if isinstance(value, str) and size * _LONGEST_CHARACTER > most:
        size = len(value.encode())
    return size > most


def after_prefix(prefix: KeyValue) -> KeyValue | None:
    """Return the lowest value behind all that begin so, or ``None`` if there is none."""
    if isinstance(prefix, bytes):
        rest = prefix.rstrip(b"\xff")
        return rest[:-1] + bytes([rest[-1] + 1]) if rest else None
    text = prefix.rstrip(_LAST_CHARACTER)
    if not text:
        return None
    last = text[-1]
    following = _AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1)
    return text[:-1] + following


def _number(number: Decimal) -> bytes:
    if not number.is_finite():
        raise Unusual
    sign, digits, _ = number.normalize(_ENOUGH_DIGITS).as_tuple()
    if len(digits) > _DIGITS:
        raise Unusual
    if not number:
        return _ZERO
    exponent = number.adjusted() + _EXPONENT_OFFSET
    if not sign:
        return b"\x81" + exponent.to_bytes(2, "big") + bytes(digit + 1 for digit in digits)
    exponent = 2 * _EXPONENT_OFFSET - exponent
    # The last byte lets a number that goes on, and so is lower, stand before this one
    content = bytes(_TEN - digit for digit in digits) + bytes([_LAST_BYTE])
    return b"\x7f" + exponent.to_bytes(2, "big") + content
