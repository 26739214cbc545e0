"""Decode character references in attribute values as browsers do (HTML 13.2.5.73).

``html.unescape`` is for text. In an attribute, a reference without a semicolon is not decoded if a
letter, a digit or ``=`` follows, so that ``?a=1&copy=2`` keeps its second parameter.
"""

from __future__ import annotations

import html
import re
from html.entities import html5

_REFERENCE = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9a-fA-F]+);?|[A-Za-z][A-Za-z0-9]*;?)")
_LONGEST = max(map(len, html5))

# Anybody can write a number, and ``int`` refuses numbers of thousands of digits
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,};?")


def decode(value: str) -> str:
    """Return the text that an attribute value stands for."""
    if value.count("&") == value.count("&amp;"):
        return value.replace("&amp;", "&")
    return _REFERENCE.sub(_decoded, value)


def unescape(text: str) -> str:
    """Decode the references of a text: ``html.unescape``, made safe for any number."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", _LEADING_ZEROS.sub("&#", text)))


def _decoded(match: re.Match[str]) -> str:
    reference = match[0]
    if reference[1] == "#":
        reference = _LEADING_ZEROS.sub("&#", reference)
        # ``unescape`` drops characters that a text should not contain; browsers keep them
        return unescape(reference) or chr(_number(reference[2:].rstrip(";")))
    name = reference[1:]
    if name.endswith(";") and name in html5:
        return html5[name]
    follower = match.string[match.end() : match.end() + 1]
    for length in range(min(len(name), _LONGEST), 1, -1):
        # Without a semicolon the longest known name counts
        if (character := html5.get(name[:length])) is not None:
            rest = name[length:]
            stands_for_itself = (rest or follower)[:1].isalnum() or (rest or follower)[:1] == "="
            return reference if stands_for_itself else character + rest
    return reference


def _number(digits: str) -> int:
    return int(digits[1:], 16) if digits[0] in "xX" else int(digits)
