"""Talk to a scanner over TCP within one time limit for the whole exchange."""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Final, Self

from chalicelib.core.host_and_port import read_host_and_port

_LONGEST_REPLY: Final = 512 * 1024
_PIECE: Final = 16 * 1024


class ScannerConnection:
    """A connection to ``address`` (host with an optional port), for at most ``seconds``.

    Raises ``OSError``, of which ``TimeoutError`` is one. The operator named the host, so it may
    have any address.
    """

    def __init__(self, address: str, default_port: int, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._socket = socket.create_connection(
            read_host_and_port(address, default_port), self._remaining()
        )

    def send(self, octets: bytes) -> None:
        """Send octets."""
        self._socket.settimeout(self._remaining())
        self._socket.sendall(octets)

    def finish(self) -> None:
        """Say that nothing more is sent."""
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self) -> bytes:
        """Return what the scanner sends until it closes, or as much as a reply may have."""
        pieces: list[bytes] = []
        size = 0
        while size < _LONGEST_REPLY:
            self._socket.settimeout(self._remaining())
            piece = self._socket.recv(_PIECE)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _remaining(self) -> float:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        return remaining

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
