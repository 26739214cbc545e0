"""Carry the login name of a message's sender in a header field, through the service to the mailbox.

The catching port puts the field before a message that it sends (``CATCH=send``), and the sink takes
it out again, so nobody sees it and no signature covers it.
"""

import re
from urllib.parse import quote, unquote

from infrastructure.local.mailbox.header_fields import field, header_block

NAME = "X-Postfinch-Login"
# RFC 5322 2.1.1 allows 998 octets in a line
_MOST_IN_LINE = 900
_FIELD = re.compile(rb"(?im)^%s:.*\n(?:[ \t].*\n)*" % NAME.encode())


def with_login(message: bytes, login: str) -> bytes:
    """Return a message that carries a login name, and no other one."""
    text = quote(login, safe="")
    lines = [text[begin : begin + _MOST_IN_LINE] for begin in range(0, len(text), _MOST_IN_LINE)]
    value = "\r\n ".join(lines)
    return f"{NAME}: {value}\r\n".encode() + without_login(message)


def take_login(message: bytes) -> tuple[str, bytes]:
    """Return the login name that a message carries, empty for none, and the message without it."""
    text = field(header_block(message), NAME)
    if not text:
        return "", message
    return unquote("".join(text.split())), without_login(message)


def without_login(message: bytes) -> bytes:
    """Return a message without the fields that carry a login name."""
    end = len(header_block(message)) + 2
    return _FIELD.sub(b"", message[:end]) + message[end:]
