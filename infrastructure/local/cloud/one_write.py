"""Send the head and the body of a response together.

uvicorn writes them one by one. Each write wakes the client, which then waits for the rest: that is
half of what a small request costs here, and as much in the client.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWriteProtocol(HttpToolsProtocol):
    """uvicorn's protocol over a transport that joins what is written in one step of the loop."""

    def connection_made(self, transport: Any) -> None:
        """Begin to serve a connection."""
        joining: Any = _JoiningTransport(transport, self.loop)
        super().connection_made(joining)


class _JoiningTransport:
    """Passes everything on to a transport; what is written, when the loop comes to it."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write ``data`` together with what is written in the same step."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Close when everything is written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
