"""Evaluate a domain's SPF record for the addresses that mail leaves from (RFC 7208).

What evaluates it is imported when it is needed: no other request should wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chalicelib.core import dns
from chalicelib.core.settings import settings
from chalicelib.fleet import store as fleets

PASS: Final = "pass"
TEMPORARY: Final = "temperror"


def sender_addresses(account_id: int) -> list[str]:
    """Return the addresses that an account's mail leaves from; raises ``dns.LookupFailed``.

    They are its sending IPs. An account without any sends from the addresses of ``SYSTEM_DOMAIN``.
    """
    ips = [ip.external_ip for ip in fleets.get_cached(account_id).ips]
    return ips or dns.addresses(settings().system_domain, within=settings().dns_lifetime)


def evaluate(domain: str, addresses: Iterable[str]) -> tuple[str, str]:
    """Return the first SPF result that is not a pass, and its explanation.

    The results are those of RFC 7208: ``pass`` (for all addresses), ``fail``, ``softfail``,
    ``neutral``, ``none``, ``permerror`` and ``temperror``. The look-ups take no longer than one
    answer of the DNS may take.
    """
    from chalicelib.core.cached_dns import Lookups
    from chalicelib.spf import evaluation

    lookups = Lookups(settings().dns_lifetime, is_fresh=True)
    for address in addresses:
        outcome = evaluation.check(
            evaluation.Sender(address, domain, f"postmaster@{domain}"), lookups
        )
        if outcome.result != PASS:
            return outcome.result, f"{outcome.reason} ({address})"
    return PASS, ""
