"""An HTTP server in place of AWS that answers each request with the next step of a script."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from zlib import crc32

#: Answers on a connection; returns whether the connection goes on
Step = Callable[[socket.socket], bool]


class SeenRequest(NamedTuple):
    """A request that arrived; the names of its headers are in lower case."""

    headers: dict[str, str]
    body: bytes
    connection: int


def response(status: int = 200, body: Any = None, **headers: str) -> Step:
    """Answer with JSON; keywords are headers, with ``_`` for ``-``."""
    content = b"" if body is None else json.dumps(body).encode()
    return raw_response(status, content, x_amz_crc32=str(crc32(content)), **headers)


def raw_response(status: int, content: bytes, **headers: str) -> Step:
    """Answer with these bytes."""
    lines = {"x-amzn-RequestId": "REQUEST", "content-length": str(len(content))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return written(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + content)


def written(text: bytes) -> Step:
    """Answer with these bytes, head included."""

    def answer(connection: socket.socket) -> bool:
        connection.sendall(text)
        return True

    return answer


def and_closed(step: Step) -> Step:
    """Answer, and close the connection."""

    def answer(connection: socket.socket) -> bool:
        step(connection)
        return False

    return answer


def reset(connection: socket.socket) -> bool:
    """Break the connection off."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def silence(connection: socket.socket) -> bool:
    """Answer nothing until the other side gives up."""
    connection.recv(1)
    return False


class ScriptedAws:
    """The server; after its script it answers 200 with an empty object."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[SeenRequest] = []
        self.script: list[Step] = []
        #: Released when the server has closed a connection
        self.closed_connections = threading.Semaphore(0)
        self.tls = tls
        self._connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Refuse connections from now on."""
        with suppress(OSError):  # closed already
            # ``close`` alone leaves a blocked ``accept`` going
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections += 1
            threading.Thread(
                target=self._serve, args=(connection, self._connections), daemon=True
            ).start()

    def _serve(self, plain: socket.socket, number: int) -> None:
        try:
            connection = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
            with connection, connection.makefile("rb") as stream:
                while request := _read(stream, number):
                    self.requests.append(request)
                    step = self.script.pop(0) if self.script else response(body={})
                    if not step(connection):
                        return
        except OSError:
            plain.close()
        finally:
            self.closed_connections.release()


@contextmanager
def scripted_aws(tls: ssl.SSLContext | None = None) -> Iterator[ScriptedAws]:
    """Run the server for the block."""
    server = ScriptedAws(tls)
    try:
        yield server
    finally:
        server.close()


def _read(stream: Any, number: int) -> SeenRequest | None:
    if not stream.readline():
        return None
    headers: dict[str, str] = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return SeenRequest(headers, stream.read(int(headers["content-length"])), number)
