"""Find the scheduled transmissions that name a pool, a domain or what else must stay for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from chalicelib.core.addresses import domain_of
from chalicelib.core.domain_names import spelling
from chalicelib.core.errors import ServiceError
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.resolve import own_sender
from chalicelib.transmissions.sender import from_domain
from chalicelib.transmissions.store import transmissions


def leaving_by_pool(account_id: int, pool_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions that leave by a pool."""
    return _scheduled(account_id, lambda each: each.options.get("ip_pool") == pool_id)


def with_sending_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions with a domain in their From or return path.

    The From of a stored template does not count: the template may change before the start.
    """
    return _scheduled(account_id, lambda each: _sends_from(each, domain))


def of_subaccounts_with_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield what :func:`with_sending_domain` does, of subaccounts."""
    return _scheduled(
        account_id, lambda each: each.subaccount_id is not None and _sends_from(each, domain)
    )


def of_subaccounts_with_template(account_id: int, template_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions of subaccounts with a template that is shared with them."""
    lease = [None, template_id]
    return _scheduled(
        account_id,
        lambda each: each.subaccount_id is not None and each.leases.get("template") == lease,
    )


def signed_with(account_id: int, name: str) -> Iterator[str]:
    """Yield the scheduled transmissions that name a DKIM key, ``<domain>/<selector>``.

    As with domains, the From of a stored template does not count.
    """
    domain, _, selector = name.partition("/")
    selector_of = cache(lambda key: _selector(domain, key))
    return _scheduled(
        account_id,
        lambda each: (
            bool(key := each.options.get("dkim_key"))
            and _names_domain(_own_sending_domain(each), domain)
            and selector_of(key) == selector.lower()
        ),
    )


def with_tracking_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions that name a tracking domain."""
    return _scheduled(account_id, lambda each: _names_domain(each.tracking_domain, domain))


def _sends_from(transmission: Transmission, domain: str) -> bool:
    names = (domain_of(transmission.return_path), _own_sending_domain(transmission))
    return any(_names_domain(name, domain) for name in names)


def _selector(domain: str, key: str) -> str:
    """Return the selector, in lower case, of a key that is named by its selector or its id."""
    further = further_keys.find(domain, key)
    return (further.key.selector if further else key).lower()


def _own_sending_domain(transmission: Transmission) -> str:
    """Return the domain of the From that the request has; empty if a template makes it."""
    try:
        sender = own_sender(transmission)
        return (from_domain(sender) if sender else None) or ""
    except ServiceError:
        return ""  # an earlier version accepted it; generation refuses it


def _names_domain(text: str, domain: str) -> bool:
    return bool(text) and spelling(text) == domain


def _scheduled(account_id: int, matches: Callable[[Transmission], bool]) -> Iterator[str]:
    for transmission in transmissions.get_scheduled(account_id):
        if matches(transmission):
            yield f"scheduled transmission {transmission.id}"
