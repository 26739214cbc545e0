"""Apply the rules of Lua 5.1 to JSON data.

The types are nil (None and missing), boolean, number, string, array and object; any other type is
refused when it is used. Only nil and false count as false. No attribute of a value is ever read:
lookups reach only the items of dicts and lists. Failures raise Fault.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from .errors import Fault, shown

_SHORTER = 10**14  # numbers below have at most 14 digits
_EXACT = 2**53  # integers up to here are the same as floats
_LONGEST_NUMERAL = 40

_TYPE_NAMES: dict[type, str] = {
    type(None): "nil",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def type_name(value: Any) -> str:
    """Return the language's name for the type of ``value``."""
    for cls in type(value).__mro__:
        if cls in _TYPE_NAMES:
            return _TYPE_NAMES[cls]
    return "foreign"


def is_true(value: Any) -> bool:
    """Tell whether a value is true: all values except nil and false are, also zero and ""."""
    return value is not None and value is not False


def is_empty(value: Any) -> bool:
    """Tell whether an array, object or string is empty; nil counts as empty."""
    return value is None or (isinstance(value, (list, dict, str)) and not value)


def required(value: Any, label: str) -> Any:
    """Return the value of the path ``label``; raises Fault if it is nil."""
    if value is None:
        raise Fault(f"substitution value '{label}' did not exist or was null")
    return value


def item(container: Any, key: Any) -> Any:
    """Return ``container[key]``: arrays count from 1, missing items are nil, items of nil too."""
    if isinstance(container, dict):
        return container.get(key) if isinstance(key, str) else None
    if isinstance(container, list):
        return _element(container, key)
    if container is None:
        return None
    field = shown(key) if isinstance(key, str) else "?"
    raise Fault(f"attempt to index field '{field}' (a {type_name(container)} value)")


def length(value: Any) -> int:
    """Return ``#value``: elements of an array, characters of a string, 0 for an object."""
    if isinstance(value, (list, str)):
        return len(value)
    if isinstance(value, dict):
        return 0
    raise Fault(f"attempt to get length of a {type_name(value)} value")


def equals(left: Any, right: Any) -> bool:
    """Return ``left == right``: never across types; arrays and objects only with themselves."""
    if _is_plain(left) and _is_plain(right):
        return bool(left == right)
    return left is right


def differs(left: Any, right: Any) -> bool:
    """Return ``left != right``."""
    return not equals(left, right)


def less(left: Any, right: Any) -> bool:
    """Return ``left < right`` for two numbers or two strings."""
    _check_order(left, right)
    return bool(left < right)


def less_or_equal(left: Any, right: Any) -> bool:
    """Return ``left <= right`` for two numbers or two strings."""
    _check_order(left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    """Return ``left > right``."""
    return less(right, left)


def greater_or_equal(left: Any, right: Any) -> bool:
    """Return ``left >= right``."""
    return less_or_equal(right, left)


def calculate(operator: str, left: Any, right: Any) -> int | float:
    """Return ``left operator right`` for ``+ - * /``; numerals in strings count as numbers."""
    a, b = _number(left), _number(right)
    if operator == "+":
        result: int | float = a + b
    elif operator == "-":
        result = a - b
    elif operator == "*":
        result = a * b
    elif b == 0:
        raise Fault("attempt to divide by zero")
    else:
        result = a / b
    return _in_range(result)


def negate(value: Any) -> int | float:
    """Return ``-value``."""
    return -_number(value)


def number_text(value: int | float) -> str:
    """Return a number as Lua's ``%.14g``: 5.00 is ``5``, ten quarters are ``2.5``."""
    if isinstance(value, int) and abs(value) < _SHORTER:
        return str(value)  # the same, in a tenth of the time
    try:
        return f"{float(value) + 0.0:.14g}"  # minus nothing is nothing
    except OverflowError:
        raise Fault("number out of range") from None


def _element(array: list[Any], key: Any) -> Any:
    if isinstance(key, bool) or not isinstance(key, (int, float)) or not 1 <= key <= len(array):
        return None
    return array[int(key) - 1] if key == int(key) else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _check_order(left: Any, right: Any) -> None:
    names = type_name(left), type_name(right)
    if names not in (("number", "number"), ("string", "string")):
        raise Fault(f"attempt to compare {names[0]} with {names[1]}")


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        value = _numeral(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Fault(f"attempt to perform arithmetic on a {type_name(value)} value")
    return value if -_EXACT <= value <= _EXACT else _wide(value)


def _numeral(text: str) -> Any:
    """Return the number that a short string spells, or the string itself."""
    if len(text) > _LONGEST_NUMERAL or "_" in text or not text.isascii():
        return text
    try:
        return _in_range(float(text))
    except (ValueError, Fault):
        return text


def _wide(value: int | float) -> float:
    """Return a large number as a float, so that products of integers cannot grow without limit."""
    try:
        return float(value)
    except OverflowError:
        raise Fault("number out of range") from None


def _in_range(value: int | float) -> int | float:
    if not isfinite(value):
        raise Fault("number out of range")
    return value
