"""Check the DNS records of sending domains again, and delete domains that stay unverified.

Where mail leaves by Amazon SES, the identities of domains are checked and made here as well.

A schedule calls :func:`reverify_due`; how often does not matter. A verified domain is checked once
a day. When a record is missing, its status becomes invalid; a domain that no other check verifies
can then no longer send. A domain that has not been verified for two weeks is deleted, unless an IP
pool signs with it: then it has another two weeks.

A run may be repeated or cut off without harm: an entry stays due until the domain is written with
the time of its next check, and entries that match no domain are removed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from chalicelib.core import due
from chalicelib.core.due import Due
from chalicelib.core.dynamo import WriteConflict
from chalicelib.core.errors import ServiceError
from chalicelib.core.references import Finder
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dns_checks import check_dkim
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.model import DNS_CHECKS, UNVERIFIED, SendingDomain
from chalicelib.sending_domains.schedule import is_grace_over, with_next_check
from chalicelib.sending_domains.ses_identities import service as ses_identities
from chalicelib.sending_domains.verification import (
    begins_to_take_bounces,
    check_dns,
    check_no_inbound_domain,
)

_log = logging.getLogger(__name__)

_THREADS = 8  # most of the time is spent waiting for the DNS
_MAX_DOMAINS = 400  # in one call


def reverify_due(now: float, finders: Sequence[Finder] = ()) -> dict[str, int]:
    """Check the domains that are due at ``now`` (seconds), the longest due first.

    A domain for which one of ``finders`` finds a user is not deleted.

    Returns the number of domains by result: ``kept`` (verified as before), ``lost`` (not verified
    any more), ``regained`` (verified again), ``unverified`` (as before), ``dropped`` (deleted),
    ``stale`` (the entry matched no domain) and ``failed`` (checked again later). Costs one request
    when nothing is due.
    """
    entries = due.find(store.CONCERN, int(now * 1000), limit=_MAX_DOMAINS)
    if not entries:
        return {}
    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(Counter(pool.map(lambda entry: _check_entry(entry, now, finders), entries)))


def _check_entry(entry: Due, now: float, finders: Sequence[Finder]) -> str:
    try:
        domain = store.get(entry.key)
        if domain is None or domain.check_ms != entry.at_ms:
            due.remove(entry)
            return "stale"
        return _reverify(domain, now, finders)
    except WriteConflict:
        return "failed"  # another writer came first; the entry is still due
    except Exception:
        _log.exception("checking the sending domain %s failed", entry.key)
        due.postpone(entry, int(now * 1000))
        return "failed"


def _reverify(domain: SendingDomain, now: float, finders: Sequence[Finder]) -> str:
    statuses = [name for name in DNS_CHECKS if getattr(domain.status, name) != UNVERIFIED]
    checks = check_dns(domain, [name.removesuffix("_status") for name in statuses])
    _reverify_keys(domain)
    after = checks.apply_to(domain, domain, now)
    if begins_to_take_bounces(domain, after) and _is_inbound_domain(domain):
        after = checks.without_bounces().apply_to(domain, domain, now)
    after = ses_identities.checked(after, now)
    if after.ses != domain.ses:
        after = with_next_check(after, now, answered=checks.answered)
    if is_grace_over(after, now) and _is_in_use(after, finders):
        after = with_next_check(replace(after, unverified_since=now), now)
    elif is_grace_over(after, now):
        store.delete(domain, *further_keys.deletion(domain.domain))
        return "dropped"
    store.save(domain, after)
    was_verified = domain.status.ownership_verified
    if was_verified == after.status.ownership_verified:
        return "kept" if was_verified else "unverified"
    return "lost" if was_verified else "regained"


def _is_inbound_domain(domain: SendingDomain) -> bool:
    try:
        check_no_inbound_domain(domain)
    except ServiceError:
        return True
    return False


def _is_in_use(domain: SendingDomain, finders: Sequence[Finder]) -> bool:
    return any(any(True for _ in find(domain.account_id, domain.domain)) for find in finders)


def _reverify_keys(domain: SendingDomain) -> None:
    for key in further_keys.of_domain(domain.domain):
        if key.status != UNVERIFIED:
            status = check_dkim(key.key).status_after(key.status)
            if status != key.status:
                further_keys.set_status(domain, key, status)
