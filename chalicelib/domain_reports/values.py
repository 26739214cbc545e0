"""Read single values of reports, whatever strangers wrote there."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

_LONGEST = 255
_MOST = 10**12


def short_text(value: Any) -> str:
    """Return a text without blanks around it, shortened; empty if the value is no text."""
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""


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
