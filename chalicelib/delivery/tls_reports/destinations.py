"""Find where a domain wants its TLS reports (RFC 8460 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from chalicelib.core import caches, clock, dns
from chalicelib.core.addresses import is_address

MAIL: Final = "mailto:"
WEB: Final = "https://"
MOST_DESTINATIONS: Final = 3

_RECORD = re.compile(r"v=TLSRPTv1[ \t]*;", re.ASCII)
_LONGEST = 500
_CACHE_SECONDS = 3_600.0
_CACHE_ENTRIES = 50_000

_cache: dict[str, tuple[float, bool]] = {}


def destinations_of(domain: str) -> list[str]:
    """Return the addresses (``mailto:``) and pages (``https://``) for reports about a domain.

    None if it asks for no reports. Raises ``dns.LookupFailed``.
    """
    return _destinations(dns.texts(f"_smtp._tls.{domain}"))


def wants_reports(domain: str) -> bool:
    """Tell whether a domain asks for reports, as far as the DNS answers; looked up once an hour."""
    now = clock.now()
    until, is_wanted = _cache.get(domain, (0.0, False))
    if now < until:
        return is_wanted
    try:
        is_wanted = bool(destinations_of(domain))
    except dns.LookupFailed:
        is_wanted = False
    if len(_cache) >= _CACHE_ENTRIES:
        _cache.clear()
    _cache[domain] = (now + _CACHE_SECONDS, is_wanted)
    return is_wanted


@caches.register
def clear_cache() -> None:
    """Forget which domains want reports."""
    _cache.clear()


def _destinations(texts: Iterable[str]) -> list[str]:
    """Read the TXT records at the name; more than one record for reports counts as none."""
    records = [text for text in texts if _RECORD.match(text)]
    if len(records) != 1:
        return []
    destinations: list[str] = []
    for part in records[0].split(";"):
        name, _, value = part.partition("=")
        if name.strip() == "rua":
            destinations += (each.strip() for each in value.split(","))
    return [each for each in destinations if _is_usable(each)][:MOST_DESTINATIONS]


def _is_usable(destination: str) -> bool:
    if len(destination) > _LONGEST:
        return False
    if destination.lower().startswith(MAIL):
        return is_address(address_in(destination))
    return destination.lower().startswith(WEB)


def address_in(destination: str) -> str:
    """Return the address of a ``mailto:`` URI (RFC 6068)."""
    return unquote(destination[len(MAIL) :].partition("?")[0])
