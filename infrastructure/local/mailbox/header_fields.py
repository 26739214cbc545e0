"""Read single header fields out of a raw message without parsing the rest of it.

Every stored message passes through here under load, where a full parse (about 1 ms) would cost
more than receiving it. Malformed input gives replacement characters, never an error.
"""

import re
from email.utils import getaddresses
from functools import cache

# More than a field of any sender has; a million addresses take ten seconds
_MOST_CHARACTERS = 100_000


def header_block(message: bytes) -> bytes:
    """The bytes before the first empty line: the whole message when there is none."""
    if message.startswith((b"\r\n", b"\n")):
        return b""
    end = message.find(b"\r\n\r\n")
    if end < 0:
        end = message.find(b"\n\n")
    return message if end < 0 else message[:end]


def field(headers: bytes, name: str) -> str:
    """The first field of that name, unfolded but not decoded (RFC 5322 2.2.3); "" when absent."""
    match = _pattern(name).search(headers)
    if match is None:
        return ""
    return match[1].replace(b"\r", b"").replace(b"\n", b"").decode("utf-8", "replace").strip()


def address_pairs(value: str) -> list[tuple[str, str]]:
    """The names and addresses of a field, up to a limit; none of one that nobody could read."""
    try:
        return getaddresses([value[:_MOST_CHARACTERS]])
    except RecursionError:  # a thousand comments, each in another one
        return []


def first_address(value: str) -> str:
    """The first address of a field; empty if there is none."""
    return next((address for _, address in address_pairs(value) if address), "")


def only_address(value: str) -> str:
    """The address of a text that has one; empty if it has none or several."""
    pairs = address_pairs(value)
    return pairs[0][1] if len(pairs) == 1 else ""


@cache
def _pattern(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?im)^%s[ \t]*:(.*(?:\n[ \t].*)*)" % re.escape(name).encode())
