"""Check and expand the macros of SPF records (RFC 7208 7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

_DELIMITERS: Final = r"[.+,/_=-]"
_LETTERS: Final = "sSlLoOdDiIpPhHvV"
_EXPLANATION_LETTERS: Final = _LETTERS + "cCrRtT"
_PLAIN: Final = {"%%": "%", "%_": " ", "%-": "%20"}
_LONGEST_NAME: Final = 253
_LONGEST_TEXT: Final = 8_192


def _expansion(letters: str) -> str:
    return rf"%\{{([{letters}])(?:(0*[1-9][0-9]{{0,9}})?(r|R)?({_DELIMITERS}*))\}}"


def _macro_string(letters: str) -> str:
    return rf"(?:%[%_-]|{_expansion(letters)}|[!-$&-~])*"


_MACRO_STRING: Final = re.compile(_macro_string(_LETTERS))
_EXPLANATION: Final = re.compile(rf"(?: |{_macro_string(_EXPLANATION_LETTERS)[:-1]})*")
_ENDS_IN_EXPANSION: Final = re.compile(rf"(?:%[%_-]|{_expansion(_LETTERS)})\Z")
_TOP_LABEL: Final = re.compile(r"(?=[^.]*[A-Za-z-])[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_EXPANSION: Final = re.compile(rf"%[%_-]|{_expansion(_EXPLANATION_LETTERS)}")


class TooLong(ValueError):
    """An expansion gives more than any name or explanation has."""


def is_macro_string(text: str) -> bool:
    """Tell whether a text is a macro-string: printable ASCII in which each % begins a macro."""
    return _MACRO_STRING.fullmatch(text) is not None


def is_domain_spec(text: str) -> bool:
    """Tell whether a text is a domain-spec: it ends with a macro, or with a top-level label."""
    if not is_macro_string(text):
        return False
    # A macro is a few characters, but may have many delimiters
    if text.endswith("}"):
        return _ENDS_IN_EXPANSION.match(text, text.rfind("%")) is not None
    if text.endswith(("%%", "%_", "%-")) and _has_odd_percents(text[:-1]):
        return True
    _, dot, label = text.removesuffix(".").rpartition(".")
    return bool(dot) and _TOP_LABEL.fullmatch(label) is not None


def _has_odd_percents(text: str) -> bool:
    return (len(text) - len(text.rstrip("%"))) % 2 == 1


def is_explanation(text: str) -> bool:
    """Tell whether a text is an explain-string (RFC 7208 6.2)."""
    return text.isascii() and len(text) <= _LONGEST_TEXT and bool(_EXPLANATION.fullmatch(text))


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """Return a text with its macros replaced; ``value_of`` tells the value of a lower-case letter.

    Raises :class:`TooLong`.
    """
    if "%" not in text:
        return text
    pieces: list[str] = []
    at = length = 0
    for match in _EXPANSION.finditer(text):
        pieces += [text[at : match.start()], _value(match, value_of)]
        length += len(pieces[-1]) + len(pieces[-2])
        if length > _LONGEST_TEXT:
            raise TooLong
        at = match.end()
    return "".join([*pieces, text[at:]])


def shorten(name: str) -> str:
    """Return a name without the labels on its left that make it too long (RFC 7208 7.3)."""
    name = name.removesuffix(".")
    while len(name) > _LONGEST_NAME and "." in name:
        # The cut is where the rest may fit, and then at the end of that label
        rest = name[-_LONGEST_NAME - 1 :]
        name = rest.partition(".")[2]
    return name


def _value(match: re.Match[str], value_of: Callable[[str], str]) -> str:
    if match[0] in _PLAIN:
        return _PLAIN[match[0]]
    letter, digits, reverse, delimiters = match.groups()
    value = value_of(letter.lower())
    if digits or reverse or delimiters:
        parts = re.split(f"[{re.escape(delimiters or '.')}]", value)
        if reverse:
            parts.reverse()
        value = ".".join(parts[-int(digits) :] if digits else parts)
    return quote(value, safe="") if letter.isupper() else value
