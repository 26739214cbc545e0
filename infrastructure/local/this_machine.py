"""Tell requests of this machine's own programs from those that a web page caused.

A browser lets any page send requests to ``http://127.0.0.1:<port>``, and after DNS rebinding even
read the answers under a name of the page's own. Such a request gives itself away in one of these:

- ``Host`` names another machine. Only ``localhost``, names under it and loopback addresses pass.
- ``Origin`` is that of another site. Browsers add it to whatever is not a plain GET or HEAD.
- ``Sec-Fetch-Site`` says that another site caused it (Fetch Metadata, W3C).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_HOST = re.compile(
    rb"(?:(?:[a-z0-9_-]{1,63}\.){0,8}localhost\.?|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?",
    re.IGNORECASE,
)

Headers = Iterable[tuple[bytes, bytes]]


@lru_cache(maxsize=256)
def is_this_machine(host: bytes) -> bool:
    """Tell whether a ``Host`` value names this machine; its port does not matter."""
    return _HOST.fullmatch(host) is not None


def reason_to_refuse(
    headers: Headers, *, own_pages: bool = False, other_pages_read: bool = False
) -> str:
    """Return why a request must be refused, or an empty string; ``headers`` as of ASGI.

    ``own_pages`` admits pages that this port serves itself. ``other_pages_read`` admits requests
    without ``Origin`` (GET and HEAD) that other pages cause by links and images, for paths that
    are public anyway: such a page cannot read the answer.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not is_this_machine(hosts[0]):
        return "Host names another machine"
    own_sites = (b"none", b"same-origin") if own_pages else (b"none",)
    for name, value in headers:
        if name == b"origin" and not (own_pages and value.lower() in _origins(hosts[0])):
            return "the request comes from a web page of another origin"
        if name == b"sec-fetch-site" and not other_pages_read and value not in own_sites:
            return "the request comes from a web page of another site"
    return ""


def _origins(host: bytes) -> tuple[bytes, bytes]:
    """Return the origins of pages that a port serves itself."""
    return b"http://" + host.lower(), b"https://" + host.lower()
