"""Buffer the octets that a client has sent, and cut command lines from them.

Only CRLF ends a command line. A line that is too long, or has a bare CR, a bare LF or a NUL, gets
one refusal, and reading goes on after its CRLF: no part of a refused line ever runs as a command.
An HTTP request ends the connection: a browser sends it for any web page, whose fields or body may
hold SMTP commands. No I/O happens here.
"""

from __future__ import annotations

import re

from relay import replies
from relay.errors import SmtpRefusal

_CR = 0x0D
# Octets of a refused line that are skipped before the connection is closed.
_MAX_SKIPPED = 64 * 1024
# The methods of RFC 9110 9.3 and RFC 5789, and HTTP/2's preface; none is an SMTP command.
_HTTP_REQUEST = re.compile(
    rb"(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) ", re.IGNORECASE
)


class InputBuffer:
    """Octets that the session has not read yet; it takes them as lines or as they are.

    With `bare_ends` a bare LF ends a line as well.
    """

    def __init__(self, *, bare_ends: bool = False) -> None:
        self._bare_ends = bare_ends
        self._octets = bytearray()
        self._skipping = False
        self._skipped = 0

    def __len__(self) -> int:
        return len(self._octets)

    def feed(self, octets: bytes) -> None:
        """Add octets from the network."""
        self._octets += octets

    def clear(self) -> None:
        """Drop all unread octets."""
        self._octets.clear()
        self._skipping, self._skipped = False, 0

    def take(self) -> bytes:
        """Return and remove all unread octets, possibly none."""
        octets = bytes(self._octets)
        self._octets.clear()
        return octets

    def put_back(self, octets: bytes) -> None:
        """Put octets back at the front, to be read next."""
        self._octets[:0] = octets

    def begins_with(self, word: bytes) -> bool:
        """Tell whether the unread octets begin with `word` (capitals), in any letter case."""
        return self._octets[: len(word)].upper() == word

    def line(self, limit: int) -> bytes | None:
        """Return the next line without its CRLF, or None if its end has not arrived.

        `limit` counts the CRLF. Raises Refusal for an unacceptable line: 500, or 421 if the line
        does not end or begins as an HTTP request does.
        """
        if self._skipping and not self._skipped_to_end():
            return None
        if _HTTP_REQUEST.match(self._octets):
            raise SmtpRefusal(replies.HTTP_REQUEST)
        end = self._octets.find(b"\n")
        if end < 0 and len(self._octets) <= limit:
            return None
        if end < 0 or end >= limit:
            self._skipping = True
            raise SmtpRefusal(replies.COMMAND_TOO_LONG)
        if self._bare_ends and (end == 0 or self._octets[end - 1] != _CR):
            line = bytes(self._octets[:end])
            del self._octets[: end + 1]
            return line
        if end == 0 or self._octets[end - 1] != _CR:
            # Refused at once, before its CRLF: a client that only sends LF would wait for ever.
            del self._octets[: end + 1]
            self._skipping = True
            raise SmtpRefusal(replies.BAD_LINE)
        line = bytes(self._octets[: end - 1])
        del self._octets[: end + 1]
        if b"\r" in line or b"\0" in line:
            raise SmtpRefusal(replies.BAD_LINE)
        return line

    def _skipped_to_end(self) -> bool:
        """Drop the rest of a refused line; return False if its CRLF has not arrived."""
        end = self._octets.find(b"\r\n")
        if end >= 0:
            del self._octets[: end + 2]
            self._skipping, self._skipped = False, 0
            return True
        keep = 1 if self._octets.endswith(b"\r") else 0
        dropped = len(self._octets) - keep
        del self._octets[:dropped]
        self._skipped += dropped
        if self._skipped > _MAX_SKIPPED:
            raise SmtpRefusal(replies.ENDLESS_LINE)
        return False
