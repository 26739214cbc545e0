"""Build and read signed local parts that name a message, for mail that comes back.

A local part is ``<marker>.<message id>.<last day>.<tag>``: 24 hex digits, the last day that the
address is good for (counted from 1970, 4 hex digits), and the base32 form of a 10-byte HMAC of
both. It is in lower case throughout, because some mail hosts fold the case of local parts, and has
48 of the 64 octets that RFC 5321 4.5.3.1.1 allows with a marker of one letter.

An address is good for ``MESSAGES_RETENTION``, because the message's data is deleted after that.
"""

from __future__ import annotations

import re

from chalicelib.core import clock, signing
from chalicelib.core.settings import settings

_DAY_SECONDS = 86_400
_LOCAL_PART = re.compile(r"([a-z])\.(([0-9a-f]{24})\.([0-9a-f]{4}))\.([a-z2-7]{16})", re.IGNORECASE)


class MessageAddresses:
    """The addresses of one purpose, whose local parts begin with a letter of their own."""

    def __init__(self, marker: str, purpose: str) -> None:
        self._marker = marker
        self._purpose = purpose

    def local_part(self, message_id: str, injected_ms: int) -> str:
        """Return the local part for a message that was injected at ``injected_ms``."""
        last = (injected_ms // 1000 + settings().messages_retention) // _DAY_SECONDS
        signed = f"{message_id}.{last:04x}"
        return f"{self._marker}.{signed}.{signing.tag_text(signed.encode(), self._purpose)}"

    def message_of(self, local_part: str) -> str | None:
        """Return the message id in a local part that :meth:`local_part` built.

        ``None`` for any other text, and when the address has expired.
        """
        match = _LOCAL_PART.fullmatch(local_part) if local_part.isascii() else None
        if match is None or match[1].lower() != self._marker:
            return None
        _, signed, message_id, last, tag = match.groups()
        if not signing.is_valid(signed.lower().encode(), signing.tag_of_text(tag), self._purpose):
            return None
        return message_id.lower() if clock.now() // _DAY_SECONDS <= int(last, 16) else None
