"""Find the scheduled transmissions that name a pool, a domain or what else must stay for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from chalicelib.ab_tests.assignment import find_test
from chalicelib.core.addresses import domain_of
from chalicelib.core.domain_names import spelling
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.resolve import own_sender, stored_sender
from chalicelib.transmissions.sender import from_domain
from chalicelib.transmissions.store import transmissions


def leaving_by_pool(account_id: int, pool_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions that leave by a pool."""
    return _scheduled(account_id, lambda each: each.options.get("ip_pool") == pool_id)


def with_sending_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions with a domain in their From or return path.

    The From of a stored template counts as it is now; the template may change before the start.
    """
    senders = _Senders()
    return _scheduled(account_id, lambda each: senders.send_from(each, domain))


def of_subaccounts_with_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield what :func:`with_sending_domain` does, of subaccounts."""
    senders = _Senders()
    return _scheduled(
        account_id,
        lambda each: each.subaccount_id is not None and senders.send_from(each, domain),
    )


def of_subaccounts_with_template(account_id: int, template_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions of subaccounts with a template that is shared with them."""
    lease = [None, template_id]
    return _scheduled(
        account_id,
        lambda each: each.subaccount_id is not None and each.leases.get("template") == lease,
    )


def signed_with(account_id: int, name: str) -> Iterator[str]:
    """Yield the scheduled transmissions that name a DKIM key, ``<domain>/<selector>``."""
    domain, _, selector = name.partition("/")
    senders = _Senders()
    selector_of = cache(lambda key: _selector(domain, key))
    return _scheduled(
        account_id,
        lambda each: (
            bool(key := each.options.get("dkim_key"))
            and senders.has_from(each, domain)
            and selector_of(key) == selector.lower()
        ),
    )


def with_tracking_domain(account_id: int, domain: str) -> Iterator[str]:
    """Yield the scheduled transmissions that name a tracking domain."""
    return _scheduled(account_id, lambda each: _names_domain(each.tracking_domain, domain))


def with_ab_test(account_id: int, test_id: str) -> Iterator[str]:
    """Yield the scheduled transmissions that an A/B test gives a template."""
    return _scheduled(account_id, lambda each: each.content.get("ab_test_id") == test_id)


class _Senders:
    """The domains that scheduled transmissions have in their From.

    Templates and A/B tests are read once: each recipient of a test is a transmission.
    """

    def __init__(self) -> None:
        self._of_template = cache(_domain_of_template)
        self._of_test = cache(_templates_of_test)

    def send_from(self, transmission: Transmission, domain: str) -> bool:
        """Tell whether a domain is in the From or the return path."""
        if _names_domain(domain_of(transmission.return_path), domain):
            return True
        return self.has_from(transmission, domain)

    def has_from(self, transmission: Transmission, domain: str) -> bool:
        """Tell whether a domain is in the From, or in one that an A/B test may choose."""
        return any(_names_domain(name, domain) for name in self._domains(transmission))

    def _domains(self, transmission: Transmission) -> Iterator[str]:
        try:
            if sender := own_sender(transmission):
                yield _domain(sender)
                return
            draft = bool(transmission.content.get("use_draft_template"))
            for template_id in self._templates(transmission):
                yield self._of_template(transmission.scope, template_id, draft)
        except ServiceError:
            return  # version 0.1.0 accepted it; the start refuses it

    def _templates(self, transmission: Transmission) -> list[str]:
        """Return the ids of the templates of which one is sent."""
        if test_id := transmission.content.get("ab_test_id"):
            return self._of_test(transmission.scope, test_id)
        return [transmission.content["template_id"]]


def _templates_of_test(scope: Scope, test_id: str) -> list[str]:
    try:
        return [share.template_id for share in find_test(scope, test_id).shares]
    except ServiceError:
        return []


def _domain_of_template(scope: Scope, template_id: str, draft: bool) -> str:
    try:
        return _domain(stored_sender(scope, template_id, draft))
    except ServiceError:
        return ""


def _domain(sender: str | dict[str, Any]) -> str:
    return (from_domain(sender) if sender else None) or ""


def _selector(domain: str, key: str) -> str:
    """Return the selector, in lower case, of a key that is named by its selector or its id."""
    further = further_keys.find(domain, key)
    return (further.key.selector if further else key).lower()


def _names_domain(text: str, domain: str) -> bool:
    return bool(text) and spelling(text) == domain


def _scheduled(account_id: int, matches: Callable[[Transmission], bool]) -> Iterator[str]:
    for transmission in transmissions.get_scheduled(account_id):
        if matches(transmission):
            yield f"scheduled transmission {transmission.id}"
