"""GET of a URL that a caller named, without letting the caller reach into our own network.

The host is looked up here, every address is judged before it is spoken to
(``ALLOW_PRIVATE_ADDRESSES``), and the connection goes to the address that was judged. Redirects are
not followed. The whole exchange has one time limit, and only the beginning of a body is read.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

from chalicelib.core import dns
from chalicelib.core.ip_addresses import is_public
from chalicelib.core.settings import settings

TIMEOUT = 5.0
MOST_BYTES = 4096
_MOST_ADDRESSES = 3
_PORTS = {"http": 80, "https": 443}


class FetchFailed(Exception):
    """Nothing was fetched; the text says why."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The status of a reply, and at most ``MOST_BYTES`` of its body."""

    status: int
    body: bytes


def get(url: str, *, timeout: float = TIMEOUT) -> Fetched:
    """Fetch ``url`` (http or https); raises :class:`FetchFailed`."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    failure: Exception = FetchFailed(f"{host} has no address")
    for address in _addresses(host)[:_MOST_ADDRESSES]:
        try:
            return _get(address, port, host, url, timeout)
        except (OSError, http.client.HTTPException) as error:
            failure = error
    raise FetchFailed(str(failure) or type(failure).__name__) from failure


def _addresses(host: str) -> list[str]:
    try:
        found = dns.addresses(host)
    except dns.LookupFailed as error:
        raise FetchFailed(str(error)) from error
    allowed = [a for a in found if settings().allow_private_addresses or is_public(a)]
    if found and not allowed:
        raise FetchFailed(f"{host} has no public address")
    return allowed


def _get(address: str, port: int, host: str, url: str, timeout: float) -> Fetched:
    parts = urlsplit(url)
    connection = _Connection(address, host, port, secure=parts.scheme == "https", timeout=timeout)
    limit = threading.Timer(timeout, connection.cut)
    limit.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", target, headers={"Host": parts.netloc})
        response = connection.getresponse()
        fetched = Fetched(response.status, response.read(MOST_BYTES))
        if connection.was_cut:
            raise TimeoutError(f"{host} took longer than {timeout} s")
        return fetched
    finally:
        limit.cancel()
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to one address, whatever the host's name resolves to meanwhile."""

    def __init__(self, address: str, host: str, port: int, *, secure: bool, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address
        self._secure = secure
        self._channel: socket.socket | None = None
        self.was_cut = False

    def connect(self) -> None:
        """Connect, and with TLS prove that the other side holds the host's certificate."""
        self._channel = self.sock = socket.create_connection(
            (self._address, self.port), self.timeout
        )
        if self._secure:
            context = ssl.create_default_context()
            secured = context.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self._channel = self.sock = secured
            secured.do_handshake()

    def cut(self) -> None:
        """End the exchange from another thread, whatever the other side is doing."""
        self.was_cut = True
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
