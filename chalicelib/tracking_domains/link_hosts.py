"""Tell at which host names the links of a sender work.

A token says whose message a link belongs to. Without this check it would work at every name that
leads here, so that one account's links could pass for those of another. A link works at

- the host of ``PUBLIC_URL``, the API's own name at AWS, and the names in ``TRACKING_HOSTS``;
- a tracking domain that the sender may use, whether or not it is verified now;
- a domain that the sender could use until it was deleted, for a year and until another account
  registers it: mail with it has been sent. The same account may give it to another part meanwhile.

Where a server in front of API Gateway answers for tracking domains, API Gateway gets its own name
in ``Host``; such servers tell the browser's in ``X-Forwarded-Host``. A client that forges either
only changes the link that it follows itself. Hosts are looked up in a cache
(``core.config_cache``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from chalicelib.core import caches
from chalicelib.core.domain_names import normalize
from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store

_API_GATEWAY = re.compile(r"[a-z0-9-]{1,80}\.execute-api\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?")
_PORT = re.compile(r":[0-9]*\Z")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def are_good_for(headers: Mapping[str, str], account_id: int, subaccount_id: int | None) -> bool:
    """Tell whether links of this sender work at the host that a request names.

    ``headers`` have lower-case names. A request without a host is not from a browser and passes.
    """
    name = _host(headers)
    if not name or name in _own_names() or _API_GATEWAY.fullmatch(name):
        return True
    domain = normalize(name)
    owners = store.link_owners(domain) if domain else []
    return any(owner.shares_with(account_id, subaccount_id) for owner in owners)


def _host(headers: Mapping[str, str]) -> str:
    """Return the name that the browser used, in lower case and without its port."""
    host = headers.get("x-forwarded-host", "").partition(",")[0].strip() or headers.get("host", "")
    return _PORT.sub("", host.strip().lower()).rstrip(".")


@cache
def _own_names() -> frozenset[str]:
    public = _host({"host": urlsplit(settings().public_url).netloc})
    further = {name.strip().lower() for name in settings().tracking_hosts.split(",")} - {""}
    return frozenset({public, *further}) | (_LOOPBACK if public in _LOOPBACK else frozenset())


caches.register(_own_names.cache_clear)
