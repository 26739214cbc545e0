"""Character references in attribute values, decoded as browsers do (HTML 13.2.5.73).

``html.unescape`` is for text: in an attribute a reference without a semicolon that a letter, a
digit or ``=`` follows stands for itself, so that ``?a=1&copy=2`` keeps its second parameter.
"""

from __future__ import annotations

import html
import re
from html.entities import html5

_REFERENCE = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9a-fA-F]+);?|[A-Za-z][A-Za-z0-9]*;?)")
_LONGEST = max(map(len, html5))

# Numbers are written by anybody, and ``int`` refuses those of thousands of digits
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,};?")


def decode(value: str) -> str:
    """Return the text that an attribute value stands for."""
    if value.count("&") == value.count("&amp;"):
        return value.replace("&amp;", "&")
    return _REFERENCE.sub(_decoded, value)


def unescape(text: str) -> str:
    """Do the same for text that is no attribute value: ``html.unescape``, for any number."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", _LEADING_ZEROS.sub("&#", text)))


def _decoded(found: re.Match[str]) -> str:
    reference = found[0]
    if reference[1] == "#":
        reference = _LEADING_ZEROS.sub("&#", reference)
        # ``unescape`` leaves out what should not be in a text; browsers do not
        return unescape(reference) or chr(_number(reference[2:].rstrip(";")))
    name = reference[1:]
    if name.endswith(";") and name in html5:
        return html5[name]
    follower = found.string[found.end() : found.end() + 1]
    for length in range(min(len(name), _LONGEST), 1, -1):
        # Without a semicolon the longest name that there is counts
        if (character := html5.get(name[:length])) is not None:
            rest = name[length:]
            stands_for_itself = (rest or follower)[:1].isalnum() or (rest or follower)[:1] == "="
            return reference if stands_for_itself else character + rest
    return reference


def _number(digits: str) -> int:
    return int(digits[1:], 16) if digits[0] in "xX" else int(digits)
