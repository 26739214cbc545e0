"""Send an HTTP request to a host that a caller named, without opening our own network to callers.

- The host is looked up here, each address is checked (``ALLOW_PRIVATE_ADDRESSES``), and the
  connection goes to the checked address. A name that leads elsewhere a moment later changes
  nothing. Only a host that the operator named may be ``private``.
- TLS is for the host's name, and its certificate is checked.
- Redirects are not followed.
- The whole exchange has one time limit, from the look-up to the last byte.
- Only the beginning of a body is read.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import math
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from chalicelib.core import timers, web_address
from chalicelib.core.spool import Body, Spool
from chalicelib.core.timers import Timer
from chalicelib.core.web_address import BadUrl, NoAddress, WebAddress

TIMEOUT = 5.0
MOST_BYTES = 16_384
_MOST_ADDRESSES = 3

_NO_HEADERS: Mapping[str, str] = {}
#: When all exchanges of a block must be over (:func:`within`), in seconds of the monotonic clock
_ends: ContextVar[float] = ContextVar("_ends", default=math.inf)


class FetchFailed(Exception):
    """There was no response; the text says why and ``code`` says it in one word.

    ``EINVAL``: the URL is not accepted. ``ENOTFOUND``: no address. ``EACCES``: no address that the
    service may connect to. ``ETIMEDOUT``. ``EPROTO``: TLS or HTTP failed. Or the operating
    system's own code.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class CertificateRefused(FetchFailed):
    """The certificate of the host is not one to trust under its name."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response: its status, the beginning of its body, and its headers in lower case.

    A body that did not end in time is cut short. ``is_whole`` tells whether all of it was read.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    is_whole: bool = field(default=True, compare=False)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the time that all exchanges of the block take together."""
    token = _ends.set(min(_ends.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _ends.reset(token)


def get(
    url: str,
    headers: Mapping[str, str] = _NO_HEADERS,
    *,
    timeout: float = TIMEOUT,
    most: int = MOST_BYTES,
    private: bool = False,
) -> Response:
    """Fetch ``url`` (http or https); raises :class:`FetchFailed`.

    At most ``most`` bytes of the body are read. The host of a ``private`` URL may have a private
    address, whatever the setting says.
    """
    return _exchange(_Call("GET", url, None, headers, most, private), timeout)


def post(
    url: str,
    body: Body,
    headers: Mapping[str, str] = _NO_HEADERS,
    *,
    timeout: float = TIMEOUT,
    most: int = MOST_BYTES,
    private: bool = False,
) -> Response:
    """Post ``body`` to ``url`` once, as :func:`get` fetches; raises :class:`FetchFailed`.

    A spooled body is sent in pieces, as one with a known length.
    """
    return _exchange(_Call("POST", url, body, headers, most, private), timeout)


class _Call(NamedTuple):
    """A request that is to be sent, and how much of its response is read."""

    method: str
    url: str
    body: Body | None
    headers: Mapping[str, str]
    most: int
    private: bool


def _exchange(call: _Call, timeout: float) -> Response:
    timeout = min(timeout, _ends.get() - time.monotonic())
    if timeout <= 0:
        raise FetchFailed("ETIMEDOUT", "earlier requests left no time for it")
    deadline = time.monotonic() + timeout
    try:
        address = web_address.read(call.url)
        addresses = web_address.addresses(address.host, within=timeout, private=call.private)
    except BadUrl as error:
        raise FetchFailed("EINVAL", str(error)) from None
    except NoAddress as error:
        raise FetchFailed(error.code, str(error)) from None
    connection = _connect(address, addresses[:_MOST_ADDRESSES], deadline)
    try:
        return _send(connection, address, call)
    except (OSError, http.client.HTTPException) as error:
        raise _failure(error, connection, timeout) from error
    finally:
        connection.end()


def _connect(address: WebAddress, ips: list[str], deadline: float) -> _Connection:
    """Return a connection to the first address that answers; the request goes to that one only."""
    failure = FetchFailed("ETIMEDOUT", f"{address.host} was not looked up in time")
    for remaining_ips, ip in zip(range(len(ips), 0, -1), ips, strict=True):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        connection = _Connection(ip, address, deadline)
        try:
            connection.connect_within(remaining / remaining_ips)
        except (OSError, http.client.HTTPException) as error:
            failure = _failure(error, connection, remaining)
            connection.end()
        else:
            return connection
    raise failure


def _send(connection: _Connection, address: WebAddress, call: _Call) -> Response:
    headers = {**call.headers, "Host": address.authority}
    content: bytes | Iterator[bytes] | None
    if isinstance(call.body, Spool):
        headers["Content-Length"] = str(call.body.size)
        content = call.body.pieces()
    else:
        content = call.body
    connection.request(call.method, address.target, content, headers)
    response = connection.getresponse()
    if connection.was_cut:  # a cut looks like the end of the headers
        raise TimeoutError
    received = {name.lower(): text for name, text in response.getheaders()}
    body, has_ended = _beginning(response, call.most)
    # The end of a connection that was cut looks like the end of a body without a length
    return Response(response.status, body, received, has_ended and not connection.was_cut)


def _beginning(response: http.client.HTTPResponse, most: int) -> tuple[bytes, bool]:
    """Return the body, up to ``most`` bytes, and whether that is all of it.

    It is read in the parts that arrive. A read of a fixed number of bytes trusts the sizes of
    chunks, and with a chunk of size -1 it would keep everything that the server sends.
    """
    content = b""
    has_ended = False
    with contextlib.suppress(OSError, http.client.HTTPException):
        while len(content) < most and (part := response.read1(most - len(content))):
            content += part
        # Bytes of an announced length that have not come are left over
        has_ended = len(content) < most and not response.length
    return content[:most], has_ended


def _failure(error: Exception, connection: _Connection, seconds: float) -> FetchFailed:
    if connection.was_cut or isinstance(error, TimeoutError):
        text = f"{connection.host} took longer than {seconds:.3g} s"
        return FetchFailed("ETIMEDOUT", text)
    text = str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return CertificateRefused("EPROTO", text)
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return FetchFailed(errno.errorcode.get(error.errno or 0, "EPROTO"), text)
    return FetchFailed("EPROTO", text)


class _Connection(http.client.HTTPConnection):
    """A connection to one address, whatever the host's name resolves to later.

    A timer cuts it at the deadline, because a time-out of the socket starts again with every byte.
    """

    def __init__(self, ip: str, address: WebAddress, deadline: float) -> None:
        super().__init__(address.host, address.port)
        self._ip = ip
        self._secure = address.scheme == "https"
        self._channel: socket.socket | None = None
        self._deadline = deadline
        self._limit: Timer | None = None
        self.was_cut = False

    def connect_within(self, seconds: float) -> None:
        """Connect, and with TLS check the certificate of the host."""
        self.timeout = seconds
        self._limit = timers.call_later(self._deadline - time.monotonic(), self._cut)
        self._channel = self.sock = socket.create_connection((self._ip, self.port), seconds)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._secure:
            secured = _tls().wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self._channel = self.sock = secured
            secured.do_handshake()
        self.sock.settimeout(None)  # from here on only the timer limits it
        if self.was_cut:  # there was no channel yet to shut down
            raise TimeoutError

    def end(self) -> None:
        """Close the connection and stop its timer.

        ``close`` must not stop the timer: a response without a known length closes the connection
        before its body is read.
        """
        if self._limit is not None:
            self._limit.cancel()
        self.close()

    def _cut(self) -> None:
        """End the exchange from the timer's thread, whatever the other side is doing."""
        self.was_cut = True
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, shared by all connections: loading certificates takes 20 ms.

    The common name of a certificate does not count (RFC 8461 3.3, RFC 9525 6.3).
    """
    context = ssl.create_default_context()
    context.hostname_checks_common_name = False
    return context


def clear_cache() -> None:
    """Load the trusted certificates again, for tests that bring their own."""
    _tls.cache_clear()
