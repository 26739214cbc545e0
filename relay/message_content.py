"""Gather the octets of a message while it arrives, and judge them.

A message has CRLF line ends only, no NUL and no line beyond a limit; its size is limited as well.
What breaks a rule is refused and never repaired (SMTP smuggling), but only once all of it has
arrived, so that the next octets are a command. Octets beyond a size in memory are spooled to a
file. No network is used here.
"""

from __future__ import annotations

from chalicelib.core.spool import Octets, Spool
from relay import replies
from relay.errors import SmtpRefusal
from relay.line_ends import LineEnds
from relay.replies import Reply


class MessageContent:
    """The content of one message: call ``add`` for each part, then ``message`` once."""

    def __init__(
        self,
        max_octets: int,
        max_line: int | None,
        *,
        trace: bytes = b"",
        most_in_memory: int | None = None,
        line_ends: LineEnds | None = None,
    ) -> None:
        """``trace`` is put in front of the message, and is no part of what is judged.

        ``line_ends`` converts what is added, where other line ends are taken.
        With ``max_line`` None, NUL octets and lines of any length pass. Without ``most_in_memory``
        nothing is spooled to a file.
        """
        self._max_octets = max_octets
        self._max_line = max_line
        self._spool = Spool(max_octets + len(trace) if most_in_memory is None else most_in_memory)
        self._trace = trace
        self._line_ends = line_ends
        self._last_cr = b""
        self._ends_line = True
        self._open_line = 0
        self._refusal: Reply | None = None
        self.size = 0

    def add(self, part: bytes) -> None:
        """Add octets, wherever they are cut."""
        if self._line_ends is not None:
            part = self._line_ends.converted(part)
        part = self._last_cr + part
        # A CR that ends a part is judged with the octet that follows it
        self._last_cr = b"\r" if part.endswith(b"\r") else b""
        if self._last_cr:
            part = part[:-1]
        if part:
            self._add(part)

    def message(self) -> Octets:
        """Return the trace and the message; raises SmtpRefusal. :meth:`close` releases it.

        A last line without its CRLF, which only chunks can have, gets it.
        """
        if self._last_cr:
            self._refusal = self._refusal or replies.BARE_LINE_END
        if self.size > self._max_octets:
            raise SmtpRefusal(replies.MESSAGE_TOO_BIG)
        if self._refusal is not None:
            raise SmtpRefusal(self._refusal)
        self._write_trace()
        if not self._ends_line:
            self._spool.write(b"\r\n")
        return self._spool.octets()

    @property
    def is_refused(self) -> bool:
        """Whether what has arrived will be refused already."""
        return self._refusal is not None or self.size > self._max_octets

    def refuse(self, reply: Reply) -> None:
        """Refuse the message, whatever else arrives of it."""
        self._refusal = self._refusal or reply
        self._spool.close()

    def close(self) -> None:
        """Release the octets."""
        self._spool.close()

    def _add(self, part: bytes) -> None:
        self.size += len(part)
        if self._refusal is None:
            self._refusal = self._fault_of(part)
        if self._refusal is not None or self.size > self._max_octets:
            self._spool.close()
            return
        self._write_trace()
        self._spool.write(part)
        self._ends_line = part.endswith(b"\n")

    def _write_trace(self) -> None:
        if self._trace:
            self._spool.write(self._trace)
            self._trace = b""

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
