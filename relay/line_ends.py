"""Make CRLF of any line ends, for clients that send a bare CR or LF."""

from __future__ import annotations


class LineEnds:
    """Converts octets that arrive in parts, wherever they are cut."""

    def __init__(self) -> None:
        self._last_cr = b""

    def converted(self, octets: bytes) -> bytes:
        """Return the octets with CRLF line ends; a CR at their end waits for what follows it."""
        octets = self._last_cr + octets
        self._last_cr = b"\r" if octets.endswith(b"\r") else b""
        if self._last_cr:
            octets = octets[:-1]
        line_ends = octets.count(b"\r\n")
        if octets.count(b"\n") == line_ends == octets.count(b"\r"):
            return octets
        return octets.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")
