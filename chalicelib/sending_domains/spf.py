"""Evaluate a domain's SPF record for the addresses that mail leaves from (RFC 7208), with pyspf.

pyspf is imported when it is needed: no other request should wait for it. Its look-ups go through
``core.dns``, within the time limit of one answer for the whole evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

from chalicelib.core import dns
from chalicelib.core.settings import settings
from chalicelib.fleet import store as fleets

PASS: Final = "pass"
TEMPORARY: Final = "temperror"

#: Type of a record → its value in the form that pyspf expects
_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "A": lambda record: record.address,
    "AAAA": lambda record: record.address,
    "MX": lambda record: (record.preference, record.exchange.to_text()),
    "PTR": lambda record: record.target.to_text(),
    "TXT": lambda record: record.strings,
}


def sender_addresses(account_id: int) -> list[str]:
    """Return the addresses that an account's mail leaves from; raises ``dns.LookupFailed``.

    They are its sending IPs. An account without any sends from the addresses of ``SYSTEM_DOMAIN``.
    """
    ips = [ip.external_ip for ip in fleets.get_cached(account_id).ips]
    return ips or dns.addresses(settings().system_domain, within=settings().dns_lifetime)


def evaluate(domain: str, addresses: Iterable[str]) -> tuple[str, str]:
    """Return the first SPF result that is not a pass, and its explanation.

    The results are those of RFC 7208: ``pass`` (for all addresses), ``fail``, ``softfail``,
    ``neutral``, ``none``, ``permerror`` and ``temperror``.
    """
    until = time.monotonic() + settings().dns_lifetime
    answers: dict[Any, Any] = {}  # all addresses need the same ones
    for address in addresses:
        query = _pyspf().query(
            i=address,
            s=f"postmaster@{domain}",
            h=domain,
            querytime=max(until - time.monotonic(), 0.001),
        )
        query.cache = answers
        result, _, text = query.check()
        if result != PASS:
            return result, f"{text or 'there is no SPF record'} ({address})"
    return PASS, ""


@cache
def _pyspf() -> Any:
    import spf

    def look_up(name: str, kind: str, strict: bool, timeout: float) -> list[Any]:
        try:
            records = dns.lookup(name, kind, timeout)
        except dns.LookupFailed as error:
            raise spf.TempError(str(error)) from None
        return [((name, kind), _VALUES[kind](record)) for record in records]

    spf.DNSLookup = look_up
    return spf
