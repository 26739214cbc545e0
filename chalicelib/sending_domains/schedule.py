"""Decide when a domain is checked again, and when it has been unverified too long (spec 3)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core.settings import settings
from chalicelib.sending_domains.model import DNS_CHECKS, UNVERIFIED, SendingDomain
from chalicelib.sending_domains.ses_identities.schedule import next_look


def with_next_check(domain: SendingDomain, now: float, *, answered: bool = True) -> SendingDomain:
    """Return the domain as it is at ``now``, with the time of its next check.

    ``answered`` is false when the DNS gave no answer. A verified domain is checked daily. An
    unverified domain is checked hourly if it has DNS checks, and deleted after two weeks. Where
    mail leaves by Amazon SES, the identity there may be due earlier.
    """
    if domain.status.ownership_verified:
        due, since = _next_check(domain, now, answered), 0.0
    else:
        since = domain.unverified_since or now
        due = since + settings().domain_grace
        if _has_dns_checks(domain):
            due = min(due, now + settings().domain_recheck_soon)
    if (look := next_look(domain, now)) is not None:
        due = min(due or look, look)
    return replace(domain, unverified_since=since, check_ms=int(due * 1000))


def _has_dns_checks(domain: SendingDomain) -> bool:
    """Tell whether verification of a DNS record was ever requested."""
    return any(getattr(domain.status, check) != UNVERIFIED for check in DNS_CHECKS)


def is_grace_over(domain: SendingDomain, now: float) -> bool:
    """Tell whether the domain has been unverified for so long that it is to be deleted."""
    if domain.status.ownership_verified:
        return False
    return now >= domain.unverified_since + settings().domain_grace


def _next_check(domain: SendingDomain, now: float, answered: bool) -> float:
    if not _has_dns_checks(domain):
        return 0.0
    return now + (settings().domain_recheck if answered else settings().domain_recheck_soon)
