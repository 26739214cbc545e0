"""Read single values of reports, whatever strangers wrote there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from ipaddress import IPv4Address, ip_address
from typing import Any

_LONGEST = 255
_MOST = 10**12

#: No database stores a lone surrogate, and control characters would command a terminal
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

_NUMBER = re.compile(r"\+?(\d{1,20}|\d{1,3}(?:[ ,]\d{3}){1,6})(?:\.\d*)?", re.ASCII)
_IPV4 = re.compile(r"\d{1,4}(?:\.\d{1,4}){3}", re.ASCII)
#: Numbers above it are no seconds of this age, but milliseconds or microseconds
_MOST_SECONDS = 10**11


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

    >>> count(" 12 "), count("1,200"), count(3.0), count(-1), count("1e9")
    (12, 1200, 3, 0, 0)
    """
    number = _whole_number(value)
    return number if number <= _MOST else 0


def moment(value: Any) -> int:
    """Return a time in seconds since the epoch, 0 if the value is none.

    It may be a number, with decimals or in a smaller unit, or a text in the form of RFC 3339.
    """
    number = _whole_number(value)
    while number > _MOST_SECONDS:
        number //= 1000
    if number:
        return number
    try:
        time = datetime.fromisoformat(short_text(value).upper())
        return max(0, int(time.replace(tzinfo=time.tzinfo or UTC).timestamp()))
    except (ValueError, OverflowError):
        return 0


def address(text: str) -> str:
    """Return an IP address in its one spelling, empty if the text is none.

    >>> address("[IPv6:2001:DB8:0::1%eth0]"), address("::ffff:192.0.2.1"), address("192.0.02.001")
    ('2001:db8::1', '192.0.2.1', '192.0.2.1')
    """
    name = text.strip("[]").lower().removeprefix("ipv6:").partition("%")[0].partition("/")[0]
    if _IPV4.fullmatch(name):
        name = ".".join(str(int(octet)) for octet in name.split("."))
    try:
        ip = ip_address(name)
    except ValueError:
        return ""
    return (ip if isinstance(ip, IPv4Address) else ip.ipv4_mapped or ip).compressed


def _whole_number(value: Any) -> int:
    """Return a number without its decimals, 0 if the value is none or less than that."""
    number = _NUMBER.fullmatch(short_text(str(value)))
    return int(re.sub(r"[ ,]", "", number[1])) if number else 0
