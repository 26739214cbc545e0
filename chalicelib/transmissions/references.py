"""Find the scheduled transmissions that name a pool or a domain, which must not be deleted then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chalicelib.core.addresses import domain_of
from chalicelib.core.domain_names import normalize
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.store import transmissions


def leaving_by_pool(account_id: int, pool_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions that leave by a pool."""
    return _scheduled(account_id, lambda each: each.options.get("ip_pool") == pool_id)


def with_return_path(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions whose return path is at a domain."""
    return _scheduled(account_id, lambda each: _names_domain(domain_of(each.return_path), domain))


def with_tracking_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions that name a tracking domain."""
    return _scheduled(account_id, lambda each: _names_domain(each.tracking_domain, domain))


def _names_domain(text: str, domain: str) -> bool:
    return bool(text) and normalize(text) == domain


def _scheduled(account_id: int, matches: Callable[[Transmission], bool]) -> Iterator[str]:
    for transmission in transmissions.get_scheduled(account_id):
        if matches(transmission):
            yield f"scheduled transmission {transmission.id}"
