"""The octets of one DATA command, read in chunks of any size.

Exactly CRLF.CRLF ends a message (RFC 5321 4.1.1.4). A message with a bare CR, a bare LF or a NUL is
refused and never repaired, because repairing is what turns one message into two (SMTP smuggling);
it is still read to its real end, as is one that is too big, so that the next octets are a command.
All searches run over whole chunks; nothing is done line by line. No I/O happens here.
"""

from __future__ import annotations

from relay import replies
from relay.errors import Refusal
from relay.replies import Reply

_END = b"\r\n.\r\n"
_BEGINNINGS_OF_END = tuple(_END[:length] for length in (4, 3, 2, 1))


class MessageData:
    """One message under way: `feed` until it is complete, then `message`."""

    def __init__(self, max_octets: int, max_line: int | None) -> None:
        """With `max_line` None, NUL octets and lines of any length pass."""
        self._max_octets = max_octets
        self._max_line = max_line
        # The CRLF of the DATA command opens the message: a lone dot may be its first line.
        self._held = b"\r\n"
        self._parts: list[bytes] = []
        self._begun = False
        self._size = 0
        self._open_line = 0
        self._refusal: Reply | None = None

    def feed(self, octets: bytes) -> bytes | None:
        """Take a chunk: None while the message goes on, else the octets that follow its end."""
        octets = self._held + octets
        end = octets.find(_END)
        if end >= 0:
            self._add(octets[: end + 2])
            return octets[end + len(_END) :]
        # What may be the beginning of the end waits, so that no part ends within CRLF or CRLF-dot.
        self._held = next((part for part in _BEGINNINGS_OF_END if octets.endswith(part)), b"")
        self._add(octets[: len(octets) - len(self._held)])
        return None

    def message(self) -> bytes:
        """The message without dot-stuffing (RFC 5321 4.5.2); raises Refusal when it is refused.

        To be called once: the parts are let go, or a large message would be held twice.
        """
        if self._size > self._max_octets:
            raise Refusal(replies.MESSAGE_TOO_BIG)
        if self._refusal is not None:
            raise Refusal(self._refusal)
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def _add(self, part: bytes) -> None:
        if not part:
            return
        part = part.replace(b"\r\n.", b"\r\n")
        if not self._begun:
            part, self._begun = part[2:], True
        self._size += len(part)
        if self._refusal is None:
            self._refusal = self._fault_of(part)
        if self._refusal is not None or self._size > self._max_octets:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _fault_of(self, part: bytes) -> Reply | None:
        line_ends = part.count(b"\r\n")
        if part.count(b"\n") != line_ends or part.count(b"\r") != line_ends:
            return replies.BARE_LINE_END
        if self._max_line is None:
            return None
        if b"\0" in part:
            return replies.NUL_IN_MESSAGE
        if self._has_long_line(part, self._max_line):
            return replies.line_too_long(self._max_line)
        return None

    def _has_long_line(self, part: bytes, limit: int) -> bool:
        """Whether a line passes the limit, by leaps of that limit; keeps the last line's length."""
        start = -self._open_line
        while len(part) - start > limit:
            end = part.rfind(b"\n", max(start, 0), start + limit)
            if end < 0:
                return True
            start = end + 1
        last = part.rfind(b"\n")
        self._open_line = len(part) - (last + 1 if last >= 0 else start)
        return False
