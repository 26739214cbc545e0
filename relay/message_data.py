"""Read the message of a DATA command, in chunks of any size.

Exactly CRLF.CRLF ends a message (RFC 5321 4.1.1.4). A message with a bare CR, a bare LF or a NUL is
refused and never repaired, because repairing can turn one message into two (SMTP smuggling). Such a
message, and one that is too big, is still read to its real end, so that the next octets are a
command. All searches run over whole chunks, never line by line. No I/O happens here.
"""

from __future__ import annotations

from relay import replies
from relay.errors import SmtpRefusal
from relay.replies import Reply

_END = b"\r\n.\r\n"
_BEGINNINGS_OF_END = tuple(_END[:length] for length in (4, 3, 2, 1))


class MessageData:
    """One message: call `feed` until it is complete, then `message`."""

    def __init__(self, max_octets: int, max_line: int | None) -> None:
        """With `max_line` None, NUL octets and lines of any length pass."""
        self._max_octets = max_octets
        self._max_line = max_line
        # The CRLF of the DATA command opens the message: a lone dot may be its first line.
        self._possible_end = b"\r\n"
        self._parts: list[bytes] = []
        self._has_started = False
        self._size = 0
        self._open_line = 0
        self._refusal: Reply | None = None

    def feed(self, octets: bytes) -> bytes | None:
        """Add a chunk; return None until the message ends, then the octets that follow its end."""
        octets = self._possible_end + octets
        end = octets.find(_END)
        if end >= 0:
            self._add(octets[: end + 2])
            return octets[end + len(_END) :]
        # A possible beginning of the end waits, so that no part ends within CRLF or CRLF-dot.
        endings = (part for part in _BEGINNINGS_OF_END if octets.endswith(part))
        self._possible_end = next(endings, b"")
        self._add(octets[: len(octets) - len(self._possible_end)])
        return None

    def message(self) -> bytes:
        """Return the message without dot-stuffing (RFC 5321 4.5.2); raises Refusal.

        Call it once: it releases the parts, so that a large message is not in memory twice.
        """
        if self._size > self._max_octets:
            raise SmtpRefusal(replies.MESSAGE_TOO_BIG)
        if self._refusal is not None:
            raise SmtpRefusal(self._refusal)
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def _add(self, part: bytes) -> None:
        if not part:
            return
        if part.rfind(b"\r\n.") >= 0:  # looks for it three times as fast as `in`
            part = part.replace(b"\r\n.", b"\r\n")
        if not self._has_started:
            part, self._has_started = part[2:], True
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
        """Tell whether a line exceeds the limit, in steps of that limit; remember the last line."""
        start = -self._open_line
        while len(part) - start > limit:
            end = part.rfind(b"\n", max(start, 0), start + limit)
            if end < 0:
                return True
            start = end + 1
        last = part.rfind(b"\n")
        self._open_line = len(part) - (last + 1 if last >= 0 else start)
        return False
