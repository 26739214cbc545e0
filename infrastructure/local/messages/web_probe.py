"""Request a URL that a stranger wrote, for its status only, without opening our network to it.

The host is looked up here by this machine's resolver, since the service's own one knows no name of
the Internet. Each address is checked, and the connection goes to the checked one: a name that
leads elsewhere a moment later changes nothing. TLS is for the host's name, and its certificate is
checked. A timer ends the exchange, and what the server sends after the headers is not read.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import time
from functools import cache
from typing import Final

from chalicelib import __version__
from chalicelib.core import timers, web_address
from chalicelib.core.ip_addresses import is_public
from chalicelib.core.web_address import BadUrl, WebAddress

_MOST_ADDRESSES: Final = 2
_HEADERS: Final = {
    "User-Agent": f"Postfinch/{__version__} (link check)",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class ProbeFailed(Exception):
    """There was no response; the text says why."""


class PrivateAddress(ProbeFailed):
    """The host has an address that is not public."""


def probe(method: str, url: str, until: float, *, private: bool = False) -> tuple[int, str]:
    """Return the status of a URL, and its Location if there is one; raises :class:`ProbeFailed`.

    ``until`` is a time of the monotonic clock. ``private`` allows addresses of any kind.
    """
    try:
        address = web_address.read(url)
    except BadUrl as error:
        raise ProbeFailed(f"invalid URL: {error}") from None
    failure = ProbeFailed("not requested: the time was over")
    for ip in _addresses(address, private=private)[:_MOST_ADDRESSES]:
        if time.monotonic() >= until:
            break
        try:
            return _exchange(method, address, ip, until)
        except _NotConnected as error:
            failure = error
    raise failure


class _NotConnected(ProbeFailed):
    """No connection to this address; another one may do."""


def _addresses(address: WebAddress, *, private: bool) -> list[str]:
    """Return the addresses of the host; one that is not public refuses them all."""
    try:
        entries = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ProbeFailed("no such host") from None
    ips = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))
    if not private and not all(map(is_public, ips)):
        raise PrivateAddress("private/reserved address")
    return ips


def _exchange(method: str, address: WebAddress, ip: str, until: float) -> tuple[int, str]:
    connection = _Connection(ip, address, until)
    limit = timers.call_later(until - time.monotonic(), connection.cut)
    try:
        connection.connect()
        connection.request(method, address.target, headers={"Host": address.authority, **_HEADERS})
        response = connection.getresponse()
        return response.status, response.getheader("Location") or ""
    except (OSError, http.client.HTTPException, ValueError) as error:
        text = connection.reason(error)
        raise (ProbeFailed if connection.is_open else _NotConnected)(text) from None
    finally:
        limit.cancel()
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to one address, whatever the host's name resolves to later."""

    def __init__(self, ip: str, address: WebAddress, until: float) -> None:
        super().__init__(address.host, address.port)
        self._ip = ip
        self._secure = address.scheme == "https"
        self._until = until
        self._channel: socket.socket | None = None
        self._was_cut = False
        self.is_open = False

    def connect(self) -> None:
        """Connect, and with TLS check the certificate of the host."""
        seconds = max(self._until - time.monotonic(), 0.01)
        self._channel = self.sock = socket.create_connection((self._ip, self.port), seconds)
        if self._secure:
            secured = _tls().wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self._channel = self.sock = secured
            secured.do_handshake()
        self.is_open = True
        if self._was_cut:  # there was no channel yet to shut down
            raise TimeoutError

    def cut(self) -> None:
        """End the exchange from the timer's thread, whatever the other side is doing."""
        self._was_cut = True
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)

    def reason(self, error: Exception) -> str:
        """Return why there was no response, in a few words."""
        if self._was_cut or isinstance(error, TimeoutError):
            return "the server took too long"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the certificate is not valid: {error.verify_message}"
        if isinstance(error, OSError) and error.strerror:
            return error.strerror
        return str(error) or type(error).__name__


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context of all requests: loading certificates takes 20 ms."""
    return ssl.create_default_context()
