"""Bound what a client of the internet can hold: connections, time and the size of a head.

- A head of a request must be there within :data:`HEAD_SECONDS` and have at most
  :data:`MOST_HEAD_BYTES`; of a body something must come every :data:`BODY_SECONDS`, and all of it
  within :data:`REQUEST_SECONDS`.
- What frames a body (sizes of chunks, their extensions, fields after the last one) is small beside
  the body.
- A client reads its answers (:mod:`infrastructure.machine.edge.slow_readers`).
- An address has at most :data:`MOST_OF_ADDRESS` connections at a time, unless it is that of a
  proxy of the operator's, and all together have :data:`MOST_CONNECTIONS`. The addresses of an IPv6
  network of 64 bits count as one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from chalicelib.core.client_networks import network_of
from infrastructure.local.gateway.http_protocol import HttpProtocol
from infrastructure.machine.edge.security_headers import security_headers
from infrastructure.machine.edge.slow_readers import WriteWatch

HEAD_SECONDS = 20.0
BODY_SECONDS = 30.0
REQUEST_SECONDS = 600.0
MOST_HEAD_BYTES = 64 * 1024
#: A chunk of one byte takes six
MOST_FRAMING = 16
MOST_OF_ADDRESS = 256
MOST_CONNECTIONS = 2_000


class OpenConnections:
    """How many connections are open, by address; ``is_unbounded`` tells addresses without limit."""

    def __init__(self, is_unbounded: Callable[[str], bool] = lambda address: False) -> None:
        self._is_unbounded = is_unbounded
        self._by_address: Counter[str] = Counter()
        self._count = 0

    def add(self, address: str) -> bool:
        """Count a connection; return ``False`` if it is one too many."""
        network = network_of(address)
        self._count += 1
        self._by_address[network] += 1
        is_bounded = not self._is_unbounded(address)
        return self._count <= MOST_CONNECTIONS and (
            not is_bounded or self._by_address[network] <= MOST_OF_ADDRESS
        )

    def remove(self, address: str) -> None:
        """Count a connection no more."""
        network = network_of(address)
        self._count -= 1
        self._by_address[network] -= 1
        if not self._by_address[network]:
            del self._by_address[network]


class PublicProtocol(HttpProtocol):
    """A connection from anywhere. ``open_connections`` is set once, for all of them."""

    open_connections = OpenConnections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for its first request."""
        super().connection_made(transport)
        self._head_bytes = self._framed_bytes = self._body_bytes = 0
        self._writing = WriteWatch(self.loop, transport)
        self._has_unread_answer = False
        self._deadline: asyncio.TimerHandle | None = None
        self._request_ends = 0.0
        self._address = self.client[0] if self.client else ""
        if self.open_connections.add(self._address):
            self._expect(HEAD_SECONDS)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection no more."""
        self.open_connections.remove(self._address)
        self._expect_nothing()
        self._writing.end()
        super().connection_lost(exc)
        # They refer to this protocol, and would keep what the client did not read until Python
        # looks for such circles
        self.pipeline.clear()
        self.cycle = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parse what the client sent, unless its head grows too large."""
        if self._is_in_body():
            if self.loop.time() > self._request_ends:
                self.transport.abort()
                return
            self._framed_bytes += len(data)
            self._expect(BODY_SECONDS)
        elif self._deadline is None:
            self._head_bytes = 0
            self._expect(HEAD_SECONDS)
        if not self._is_in_body():
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_too_much():
            self._expect_nothing()
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        super().on_headers_complete()
        self._head_bytes = self._framed_bytes = self._body_bytes = 0
        self._request_ends = self.loop.time() + REQUEST_SECONDS
        self._expect(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing more than the response."""
        super().on_message_complete()
        self._request_ends = 0.0
        self._expect_nothing()

    def on_response_complete(self) -> None:
        """Go on with the next request, once the client has taken the answer to this one."""
        if self.flow.write_paused and not self.transport.is_closing():
            self._has_unread_answer = True
            return
        super().on_response_complete()
        if self.transport.is_closing():
            self._writing.begin()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is not used, whether or not the client reads."""
        super().timeout_keep_alive_handler()
        self._writing.begin()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request and close the connection."""
        super().send_400_response(msg)
        self._writing.begin()

    def refusal_headers(self) -> Mapping[str, str]:
        """Return further headers of the answer to what is no valid HTTP."""
        return security_headers(self.scheme)

    def pause_writing(self) -> None:
        """Begin to watch whether the client takes what waits for it."""
        super().pause_writing()
        self._writing.begin()

    def resume_writing(self) -> None:
        """Go on: the client has taken it."""
        super().resume_writing()
        self._writing.end()
        if self._has_unread_answer:
            self._has_unread_answer = False
            self.on_response_complete()

    def _is_too_much(self) -> bool:
        if self._is_in_body():
            return self._framed_bytes > MOST_HEAD_BYTES + MOST_FRAMING * self._body_bytes
        return self._head_bytes > MOST_HEAD_BYTES

    def _is_in_body(self) -> bool:
        return self._request_ends > 0.0

    def _expect(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_in_body() and self.flow.read_paused:
            self._expect(BODY_SECONDS)  # it is the application that has not read yet
        elif not self.transport.is_closing():
            self.transport.abort()
