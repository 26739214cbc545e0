"""Read single values of reports, whatever strangers wrote there."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any

_LONGEST = 255
_MOST = 10**12

#: No database stores a lone surrogate, and control characters would command a terminal
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def short_text(value: Any) -> str:
    """Return a text on one line, shortened; empty if the value is no text.

    Blanks in a row are one space. Control characters and lone surrogates are replaced.
    """
    if not isinstance(value, str):
        return ""
    words = value.strip()[:_LONGEST].split()
    return _UNUSABLE.sub(_REPLACEMENT, " ".join(words))


def count(value: Any) -> int:
    """Return a number from 0 to a million millions, 0 for anything else.

    >>> count(" 12 "), count(-1), count("1e9")
    (12, 0, 0)
    """
    text = short_text(str(value))
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number if number <= _MOST else 0


def address(text: str) -> str:
    """Return an IP address in its one spelling, empty if the text is none."""
    try:
        return ip_address(text).compressed
    except ValueError:
        return ""
