"""Read the URL of a web page that a caller named, strictly.

Programs read a URL in different ways: one takes for a name what another takes for an address. So
this module refuses everything that is not clearly one or the other: credentials, numbers that stand
for an address (``2130706433``, ``0x7f.1``, ``0177.0.0.1``), zones of addresses, control characters,
backslashes. Names with characters beyond ASCII are mapped by UTS 46 first, as browsers do, and
checked after that.
"""

from __future__ import annotations

import math
import re
import socket
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import quote, urlsplit

from chalicelib.core import dns, domain_names
from chalicelib.core.ip_addresses import is_public
from chalicelib.core.settings import settings

PORTS: Final = {"http": 80, "https": 443}
LONGEST = 4096

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_BRACKETED = re.compile(r"\[[^\[\]]*\](?::[0-9]*)?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK = ("127.0.0.1", "::1")


class BadUrl(ValueError):
    """The service does not fetch this URL; the message says why."""


class NoAddress(LookupError):
    """The host has no address that the service may connect to.

    ``code`` is one of those of :class:`web_fetch.FetchFailed`.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class WebAddress:
    """The parts of a URL.

    ``host`` is a name in A-labels or an IP address without brackets; ``target`` goes into the
    request line.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def read(url: str) -> WebAddress:
    """Return the parts of an absolute http or https URL; raises :class:`BadUrl`."""
    if len(url) > LONGEST:
        raise BadUrl(f"it has more than {LONGEST} characters")
    if _FORBIDDEN.search(url):
        raise BadUrl("it contains spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadUrl(str(error)) from None
    if parts.scheme not in PORTS:
        raise BadUrl("it must begin with http:// or https://")
    if "@" in parts.netloc:
        raise BadUrl("it must not contain a user name or password")
    if port == 0:
        raise BadUrl("0 is no port")
    target = quote(parts.path or "/", safe="/%!$&'()*+,;=:@~[]")
    if parts.query:
        target += "?" + quote(parts.query, safe="/?%!$&'()*+,;=:@~[]{}|^`\"<>")
    host = _host(parts.netloc, parts.hostname or "")
    return WebAddress(parts.scheme, host, port or PORTS[parts.scheme], target)


def addresses(host: str, *, within: float = math.inf, private: bool = False) -> list[str]:
    """Return the IP addresses of a host of :func:`read` that the service may connect to.

    The name is looked up now, for at most ``within`` seconds. A ``private`` host, which the
    operator named, may have any address. Raises :class:`NoAddress` if there are none.
    """
    private = private or settings().allow_private_addresses
    try:
        every = _literal(host) or _look_up(host, within, private=private)
    except dns.LookupFailed as error:
        raise NoAddress("ENOTFOUND", str(error)) from None
    if not every:
        raise NoAddress("ENOTFOUND", f"{host} has no address")
    allowed = [each for each in every if private or is_public(each)]
    if not allowed:
        raise NoAddress("EACCES", f"{host} has no public address")
    return allowed


def _host(netloc: str, text: str) -> str:
    name = _ipv6_address(text) if _BRACKETED.fullmatch(netloc) else _name(text)
    if name is None:
        raise BadUrl(f"'{text}' is no host name")
    return name


def _ipv6_address(text: str) -> str | None:
    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    return None if address.scope_id else str(address)


def _name(text: str) -> str | None:
    """Return a name in A-labels, or an IPv4 address in its usual form."""
    name = (domain_names.normalize(text) or "").removesuffix(".")
    if ":" not in name and _literal(name):
        return name
    labels = name.split(".")
    fits = all(map(_LABEL.fullmatch, labels)) and not _NUMBER.fullmatch(labels[-1])
    return name if fits else None


def _literal(host: str) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        return []


def _look_up(host: str, within: float, *, private: bool) -> list[str]:
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 6.3
        return list(_LOOPBACK)
    addresses = dns.addresses(host, within=within)
    if addresses or not private:
        return addresses
    return _look_up_locally(host)


def _look_up_locally(host: str) -> list[str]:
    """Return the addresses of a name that this machine knows and the resolvers do not."""
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
