"""Build and read envelope senders that identify the message of a bounce, with a proof (VERP).

The local part is ``b.<message id>.<last day>.<tag>``: 24 hex digits, the last day that the address
is good for (counted from 1970, 4 hex digits), and the base32 form of a 10-byte HMAC of both. It is
in lower case throughout, because some mail hosts fold the case of local parts, and has 48 of the 64
octets that RFC 5321 4.5.3.1.1 allows.

An address is good for ``MESSAGES_RETENTION``, because the message's data is deleted after that.

The message carries the local part in a header as well: mailbox providers redact the addresses in
complaints (RFC 6590), but not a local part without a domain.
"""

from __future__ import annotations

import re

from chalicelib.core import clock, signing
from chalicelib.core.settings import settings

#: The header that holds the local part alone
HEADER = "X-SVC-Report-ID"

_PURPOSE = "return path"
_DAY_SECONDS = 86_400
_LOCAL_PART = re.compile(r"b\.(([0-9a-f]{24})\.([0-9a-f]{4}))\.([a-z2-7]{16})", re.IGNORECASE)


def local_part(message_id: str, injected_ms: int) -> str:
    """Return the local part of the envelope sender of a message, for every bounce domain.

    ``injected_ms`` is when the message was injected.
    """
    last = (injected_ms // 1000 + settings().messages_retention) // _DAY_SECONDS
    signed = f"{message_id}.{last:04x}"
    return f"b.{signed}.{signing.tag_text(signed.encode(), _PURPOSE)}"


def message_of(local_part: str) -> str | None:
    """Return the message id in a local part that :func:`local_part` built.

    ``None`` for any other text, and when the address has expired.
    """
    match = _LOCAL_PART.fullmatch(local_part) if local_part.isascii() else None
    if match is None:
        return None
    signed, message_id, last, tag = match.groups()
    if not signing.is_valid(signed.lower().encode(), signing.tag_of_text(tag), _PURPOSE):
        return None
    return message_id.lower() if clock.now() // _DAY_SECONDS <= int(last, 16) else None
