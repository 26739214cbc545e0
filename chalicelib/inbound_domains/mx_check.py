"""Look at the MX records of an inbound domain, and decide when they are looked at again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chalicelib.core import dns
from chalicelib.core.settings import settings
from chalicelib.inbound_domains.model import INVALID, VALID, InboundDomain
from chalicelib.sending_domains.lookup import mail_domain

#: The preference of the MX record to publish
PREFERENCE = 10
_MOST_RECORDS = 20


@dataclass(frozen=True, slots=True)
class MxResult:
    """The MX records of a domain, and what is wrong with them; ``error`` is empty if nothing is.

    ``answered`` is false when the DNS gave no answer.
    """

    records: tuple[str, ...] = ()
    error: str = ""
    answered: bool = True

    def apply_to(self, domain: InboundDomain, now_ms: int) -> InboundDomain:
        """Return the domain as it is after the check at ``now_ms``, with the time of the next.

        Without an answer status and records stay as they are.
        """
        if self.answered:
            status = INVALID if self.error else VALID
            domain = replace(domain, mx_status=status, mx_records=self.records)
        after = replace(domain, mx_error=self.error, mx_checked_ms=now_ms)
        return replace(after, check_ms=now_ms + _pause_ms(after, now_ms, self.answered))


def check_mx(domain: InboundDomain) -> MxResult:
    """Check that all MX records of a domain lead to the service."""
    name, target = domain.domain, mail_domain(domain.account_id)
    try:
        exchangers = dns.mail_exchangers(name)[:_MOST_RECORDS]
    except dns.LookupFailed as error:
        return MxResult(error=str(error), answered=False)
    records = tuple(f"{preference} {host}" for preference, host in exchangers)
    if not records:
        return MxResult(error=f"{name} has no MX record; it should lead to {target}")
    # The name of the host itself is as good, whatever the domain is that stands for it
    if {host for _, host in exchangers} - {target, settings().mail_hostname.lower()}:
        text = f"the MX records of {name} do not lead to {target} alone"
        return MxResult(records, text)
    return MxResult(records)


def _pause_ms(domain: InboundDomain, now_ms: int, answered: bool) -> int:
    """Return how long the next check waits: a day, or an hour where it may soon turn out well.

    That is after a check without an answer, and in the first two weeks of a domain.
    """
    is_new = now_ms - domain.created_ms < settings().domain_grace * 1000
    is_soon = not answered or (domain.mx_status != VALID and is_new)
    pause = settings().domain_recheck_soon if is_soon else settings().domain_recheck
    return int(pause * 1000)
