"""Post requests to one AWS endpoint over reused HTTP/1.1 connections.

botocore's own session takes four times the processor time, most of it in urllib3's pool and in the
parser of mail headers that ``http.client`` reads response headers with. What goes wrong is raised
as botocore's own session raises it (``botocore.httpsession``).
"""

from __future__ import annotations

import select
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import create_urllib3_context, get_cert_path

_READ_BYTES = 65536
_MOST_HEADER_BYTES = 65536


class Response(NamedTuple):
    """An HTTP response; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How connections are made: time-outs in seconds, and how certificates are checked.

    ``verify`` is botocore's: the path of a file of trusted certificates, ``True`` for the usual
    ones, or ``False`` for no check. ``most_idle`` connections wait for the next request.
    """

    connect_timeout: float
    read_timeout: float
    most_idle: int
    verify: str | bool = True


class ConnectionPool:
    """Connections to the host of ``url``, each used by one thread at a time."""

    def __init__(self, url: str, options: ConnectionOptions) -> None:
        parts = urlsplit(url)
        self._url = url
        self._options = options
        self._host = parts.hostname or ""
        self._tls = _tls_context(options.verify) if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._idle: list[_Connection] = []

    def post(self, request: bytes) -> Response:
        """Send a request, head and body, and return the response.

        Raises what botocore raises when a host cannot be reached, closes the connection too early,
        or does not answer in time.
        """
        connection = self._idle_connection() or self._connect()
        try:
            response, reusable = connection.exchange(request)
        except TimeoutError as error:
            connection.close()
            raise ReadTimeoutError(endpoint_url=self._url, error=error) from None
        except (OSError, ValueError) as error:
            connection.close()
            raise ConnectionClosedError(endpoint_url=self._url, error=error) from None
        except BaseException:
            connection.close()
            raise
        if reusable and len(self._idle) < self._options.most_idle:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    def _idle_connection(self) -> _Connection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took the last one
                return None
            if not connection.has_input():
                return connection
            connection.close()
        return None

    def _connect(self) -> _Connection:
        address = (self._host, self._port)
        try:
            plain = socket.create_connection(address, timeout=self._options.connect_timeout)
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self._url, error=error) from None
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self._url, error=error) from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Connection(self._secured(plain), self._options.read_timeout)

    def _secured(self, plain: socket.socket) -> socket.socket:
        if self._tls is None:
            return plain
        try:
            return self._tls.wrap_socket(plain, server_hostname=self._host)
        except TimeoutError as error:
            plain.close()
            raise ReadTimeoutError(endpoint_url=self._url, error=error) from None
        except ssl.SSLError as error:
            plain.close()
            raise SSLError(endpoint_url=self._url, error=error) from None
        except OSError as error:
            plain.close()
            raise ConnectionClosedError(endpoint_url=self._url, error=error) from None


class _Connection:
    """One connection, plain or with TLS. Its errors are those of sockets, and ``ValueError``."""

    def __init__(self, stream: socket.socket, read_timeout: float) -> None:
        self._stream = stream
        self._stream.settimeout(read_timeout)
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll:
            self._poll.register(stream, select.POLLIN)

    def has_input(self) -> bool:
        """Tell whether there is input without a request: the other side closed the connection."""
        if self._poll:
            return bool(self._poll.poll(0))
        return bool(select.select([self._stream], [], [], 0)[0])

    def close(self) -> None:
        self._stream.close()

    def exchange(self, request: bytes) -> tuple[Response, bool]:
        """Return the response, and whether the connection may be used again."""
        # The other side may have responded before it closed the connection
        with suppress(BrokenPipeError, ConnectionResetError):
            self._stream.sendall(request)
        status, headers, received = self._read_head()
        while status < 200:  # such as 100 Continue
            status, headers, received = self._read_head(received)
        reusable = headers.get("connection", "").lower() != "close"
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._read_chunks(received)
        elif status in (204, 304):
            body = b""
        elif "content-length" in headers:
            body = self._read_body(received, int(headers["content-length"]))
        else:
            body, reusable = self._read_to_end(received), False
        return Response(status, headers, body), reusable

    def _read_head(self, received: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers, and what was received of the body."""
        while (end := received.find(b"\r\n\r\n")) < 0:
            if len(received) > _MOST_HEADER_BYTES:
                raise ValueError("the head of the response is too long")
            received += self._receive()
        first, *lines = received[:end].decode("latin-1").split("\r\n")
        version, status, *_ = first.split(" ", 2)
        if not version.startswith("HTTP/1."):
            raise ValueError(f"not a response in HTTP/1: {version[:20]}")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if version == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return int(status), headers, received[end + 4 :]

    def _read_body(self, received: bytes, size: int) -> bytes:
        if len(received) == size:
            return received
        parts = [received]
        missing = size - len(received)
        while missing > 0:
            parts.append(part := self._receive())
            missing -= len(part)
        if missing:
            raise ValueError("more was received than the response's length")
        return b"".join(parts)

    def _read_chunks(self, received: bytes) -> bytes:
        """Read a body in chunks (RFC 9112 section 7.1); extensions and trailers are skipped."""
        parts = []
        while True:
            line, received = self._read_line(received)
            size = int(line.partition(b";")[0], 16)
            if not size:
                break
            while len(received) < size + 2:
                received += self._receive()
            parts.append(received[:size])
            received = received[size + 2 :]
        while line:
            line, received = self._read_line(received)
        return b"".join(parts)

    def _read_line(self, received: bytes) -> tuple[bytes, bytes]:
        while (end := received.find(b"\r\n")) < 0:
            received += self._receive()
        return received[:end], received[end + 2 :]

    def _read_to_end(self, received: bytes) -> bytes:
        parts = [received]
        while part := self._stream.recv(_READ_BYTES):
            parts.append(part)
        return b"".join(parts)

    def _receive(self) -> bytes:
        part = self._stream.recv(_READ_BYTES)
        if not part:
            raise ConnectionResetError("the connection was closed within a response")
        return part


def _tls_context(verify: str | bool) -> ssl.SSLContext:
    """Return botocore's context for connections, with the check of names that urllib3 does."""
    context: ssl.SSLContext = create_urllib3_context()
    if verify:
        path_of: Any = get_cert_path  # its type lacks paths
        context.load_verify_locations(cafile=path_of(verify))
        context.check_hostname = True
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
