"""Tell requests of this machine's own programs from those that a web page caused.

A browser lets any page send requests to ``http://127.0.0.1:<port>``, and after DNS rebinding even
read the answers under a name of the page's own. Such a request gives itself away in one of these:

- ``Host`` names another machine. Only ``localhost``, names under it, loopback addresses and the
  names in ``LOCAL_NAMES`` pass.
- ``Origin`` is that of another site. Browsers add it to whatever is not a plain GET or HEAD.
- ``Sec-Fetch-Site`` says that another site caused it (Fetch Metadata, W3C).

Two environment variables admit more where the service runs in a container:

- ``LOCAL_NAMES``: further names and addresses of this machine, comma-separated; ``*`` among them
  stands for every name without a dot, as the services of a Compose file have. No page of the
  internet has such a name.
- ``LOCAL_PEERS``: the networks from which requests may come besides loopback, comma-separated, or
  ``any``. A published port's requests come from the bridge of the container's network. They may
  then have any address in ``Host``: only a name can be bound to another address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

_HOST = re.compile(
    rb"(?:(?:[a-z0-9_-]{1,63}\.){0,8}localhost\.?|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?",
    re.IGNORECASE,
)
_PORT = re.compile(rb":[0-9]{1,5}\Z")
_NAME = re.compile(r"(?:[a-z0-9_-]{1,63}\.){0,8}[a-z0-9_-]{1,63}", re.IGNORECASE)
_ANY = ("0.0.0.0/0", "::/0")
_SHORT_NAME = re.compile(r"[a-z0-9_-]{1,63}")
_SHORT_NAMES = "*"

Headers = Iterable[tuple[bytes, bytes]]
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class LocalAccess:
    """Which machine may use what is for this machine only, besides programs on it.

    ``names`` are in lower case; an IPv6 address has no brackets. ``short_names`` admits every name
    without a dot.
    """

    names: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    short_names: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> LocalAccess:
        """Return what ``LOCAL_NAMES`` and ``LOCAL_PEERS`` say; raises :class:`ValueError`."""
        peers = _items(environ.get("LOCAL_PEERS", ""))
        networks = [text for peer in peers for text in (_ANY if peer == "any" else (peer,))]
        names = _items(environ.get("LOCAL_NAMES", ""))
        return cls(
            tuple(_checked_name(name) for name in names if name != _SHORT_NAMES),
            tuple(map(_network, networks)),
            short_names=_SHORT_NAMES in names,
        )

    def admits_peer(self, address: str) -> bool:
        """Tell whether requests of a peer with this address are admitted."""
        peer = ip_address(address)
        return peer.is_loopback or any(peer in network for network in self.networks)

    def admits_host(self, host: bytes) -> bool:
        """Tell whether a ``Host`` value is one of the further names, or an address if peers are."""
        name = _PORT.sub(b"", host).strip(b"[]").lower().decode("latin-1")
        return (
            name in self.names
            or (self.short_names and _SHORT_NAME.fullmatch(name) is not None)
            or (bool(self.networks) and _is_address(name))
        )


NOBODY_ELSE = LocalAccess()


@lru_cache(maxsize=256)
def is_this_machine(host: bytes) -> bool:
    """Tell whether a ``Host`` value names this machine; its port does not matter."""
    return _HOST.fullmatch(host) is not None


def reason_to_refuse(
    headers: Headers,
    *,
    own_pages: bool = False,
    other_pages_read: bool = False,
    access: LocalAccess = NOBODY_ELSE,
) -> str:
    """Return why a request must be refused, or an empty string; ``headers`` as of ASGI.

    ``own_pages`` admits pages that this port serves itself. ``other_pages_read`` admits requests
    without ``Origin`` (GET and HEAD) that other pages cause by links and images, for paths that
    are public anyway: such a page cannot read the answer.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not (is_this_machine(hosts[0]) or access.admits_host(hosts[0])):
        hint = "" if access is NOBODY_ELSE else " (LOCAL_NAMES may name it)"
        return f"Host names another machine{hint}"
    own_sites = (b"none", b"same-origin") if own_pages else (b"none",)
    for name, value in headers:
        if name == b"origin" and not (own_pages and value.lower() in _origins(hosts[0])):
            return "the request comes from a web page of another origin"
        if name == b"sec-fetch-site" and not other_pages_read and value not in own_sites:
            return "the request comes from a web page of another site"
    return ""


def leads_there(headers: Headers) -> bool:
    """Tell whether a browser shows the answer in a window of its own, as when a link is followed.

    Not so for images, frames, and pages that are fetched ahead (Fetch Metadata, W3C).
    """
    values = dict(headers)
    return (
        values.get(b"sec-fetch-mode") == b"navigate"
        and values.get(b"sec-fetch-dest") == b"document"
        and b"sec-purpose" not in values
    )


def _origins(host: bytes) -> tuple[bytes, bytes]:
    """Return the origins of pages that a port serves itself."""
    return b"http://" + host.lower(), b"https://" + host.lower()


def _items(text: str) -> list[str]:
    return [item.strip().lower() for item in text.split(",") if item.strip()]


def _checked_name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        try:
            return str(ip_address(text.strip("[]")))
        except ValueError:
            raise ValueError(f"LOCAL_NAMES: {text!r} is no host name and no address") from None
    return text


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"LOCAL_PEERS: {text!r} is no network, such as 172.16.0.0/12") from None
