"""Stand between a transport and a mail server, and cut the connection at a chosen step.

The proxy forwards lines in both directions. Steps of the client are the verbs of its commands,
`CONNECT` for the greeting, `content` for the first `CONTENT_BYTES` of a message, `.` for its end.
After STARTTLS nobody can see steps, so the encrypted bytes of one direction are counted.
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Literal

CONTENT_BYTES = 20_000

Moment = Literal["before", "unanswered", "half answered"]
"""Before the server gets the step; before the client gets its reply; amid that reply."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the first connection is cut.

    The steps `client bytes` and `server bytes` are encrypted: the cut is after `count` of them.
    """

    step: str
    moment: Moment = "before"
    count: int = 0


class Proxy:
    """Forwards to the server at `port`; use it as a context manager.

    Only the first connection is cut. With `lmtp` the client's EHLO reaches the server as LHLO,
    which makes LMTP (RFC 2033) the same as SMTP for one recipient.
    """

    def __init__(self, port: int, cut: Cut | None = None, *, lmtp: bool = False) -> None:
        self._server_port = port
        self.cut = cut
        self._lmtp = lmtp
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Proxy:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(5)

    def hang_up(self) -> None:
        """Close every connection."""
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            cut, self.cut = self.cut, None
            self._start(self._serve, client, cut)

    def _serve(self, client: socket.socket, cut: Cut | None) -> None:
        with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
            self._sockets += [client, server]
            with suppress(OSError, _Over):
                _Dialogue(client, server, cut, lmtp=self._lmtp).run()
            for each in (client, server):  # the files of both still hold them open
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


class _Over(Exception):
    """The connection has ended."""


class _Dialogue:
    def __init__(
        self, client: socket.socket, server: socket.socket, cut: Cut | None, *, lmtp: bool
    ) -> None:
        self._client, self._server = client, server
        self._from_client, self._from_server = client.makefile("rb"), server.makefile("rb")
        self._cut = cut
        self._lmtp = lmtp

    def run(self) -> None:
        self._step("CONNECT", b"")
        while True:
            line = _line(self._from_client)
            verb = line.split()[0].upper().decode()
            if self._lmtp and verb == "EHLO":
                line = b"LHLO" + line[4:]
            reply = self._step(verb, line)
            if reply.startswith(b"354"):
                self._forward_content()
            elif verb == "STARTTLS" and reply.startswith(b"220"):
                self._forward_bytes()

    def _forward_content(self) -> None:
        count = 0
        while (line := _line(self._from_client)) != b".\r\n":
            self._server.sendall(line)
            count += len(line)
            if count >= CONTENT_BYTES:
                self._cut_at("content", "before")
        self._step(".", line)

    def _forward_bytes(self) -> None:
        """Forward encrypted bytes in both directions, until the cut or the end."""
        counts = {"client bytes": 0, "server bytes": 0}
        while True:
            for source in select.select([self._client, self._server], [], [])[0]:
                step = "client bytes" if source is self._client else "server bytes"
                data = source.recv(65_536)
                if not data:
                    raise _Over
                if self._cut and self._cut.step == step:
                    data = data[: self._cut.count - counts[step]]
                counts[step] += len(data)
                (self._server if source is self._client else self._client).sendall(data)
                if self._cut and self._cut.step == step and counts[step] >= self._cut.count:
                    raise _Over

    def _step(self, step: str, line: bytes) -> bytes:
        """Forward a command and its reply; return the reply."""
        self._cut_at(step, "before")
        self._server.sendall(line)
        reply = self._reply()
        self._cut_at(step, "unanswered")
        if self._cut == Cut(step, "half answered"):
            self._client.sendall(reply[: len(reply) // 2])
            raise _Over
        self._client.sendall(reply)
        return reply

    def _reply(self) -> bytes:
        lines = [_line(self._from_server)]
        while lines[-1][3:4] == b"-":
            lines.append(_line(self._from_server))
        return b"".join(lines)

    def _cut_at(self, step: str, moment: Moment) -> None:
        if self._cut == Cut(step, moment):
            raise _Over


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise _Over
    return line
