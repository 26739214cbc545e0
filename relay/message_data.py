"""Read the message of a DATA command, in chunks of any size.

Exactly CRLF.CRLF ends a message (RFC 5321 4.1.1.4). A message that is refused for its content is
still read to its real end (`message_content`). All searches run over whole chunks, never line by
line. No I/O happens here.
"""

from __future__ import annotations

from relay.line_ends import LineEnds
from relay.message_content import MessageContent

_END = b"\r\n.\r\n"
_BEGINNINGS_OF_END = tuple(_END[:length] for length in (4, 3, 2, 1))


class MessageData:
    """The frame of one message: call `feed` until it is complete; ``content`` has the message.

    ``line_ends`` converts what arrives, for clients whose lines end otherwise.
    """

    def __init__(self, content: MessageContent, line_ends: LineEnds | None = None) -> None:
        self.content = content
        self._line_ends = line_ends
        # The CRLF of the DATA command opens the message: a lone dot may be its first line.
        self._possible_end = b"\r\n"
        self._has_started = False

    def feed(self, octets: bytes) -> bytes | None:
        """Add a chunk; return None until the message ends, then the octets that follow its end."""
        if self._line_ends is not None:
            octets = self._line_ends.converted(octets)
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

    def _add(self, part: bytes) -> None:
        """Add a part without dot-stuffing (RFC 5321 4.5.2)."""
        if not part:
            return
        if part.rfind(b"\r\n.") >= 0:  # looks for it three times as fast as `in`
            part = part.replace(b"\r\n.", b"\r\n")
        if not self._has_started:
            part, self._has_started = part[2:], True
        self.content.add(part)
