"""What is due of sending domains: records looked up again, and what nobody verified dropped.

:func:`reverify_due` is called on a schedule, as often as one likes. A verified domain is due once
a day; a record that is gone makes its status invalid, and when nothing else verifies the domain,
it stops to send. A domain that nothing has verified for two weeks is dropped.

Doing the same work twice, or half of it, does no harm: an entry stays due until the domain has
been written with its next time, and one that no domain has any more is cleared away.
"""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from chalicelib.core import due
from chalicelib.core.due import Due
from chalicelib.core.dynamo import WriteConflict
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dns_checks import check_dkim
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.model import DNS_CHECKS, UNVERIFIED, SendingDomain
from chalicelib.sending_domains.schedule import is_grace_over
from chalicelib.sending_domains.verification import check_dns

_log = logging.getLogger(__name__)

# What takes time is waiting for the DNS
_AT_ONCE = 8
_MOST = 400


def reverify_due(now: float) -> dict[str, int]:
    """Look at the domains that are due at ``now`` (seconds), the longest due first.

    Returns how many came to which end: ``kept`` (verified as before), ``lost`` and ``regained``
    (whether they are verified has changed), ``unverified``, ``dropped``, ``stale`` (nothing to do)
    and ``failed`` (tried again later). Costs one request when nothing is due.
    """
    entries = due.find(store.CONCERN, int(now * 1000), limit=_MOST)
    if not entries:
        return {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(Counter(pool.map(lambda entry: _look_at(entry, now), entries)))


def _look_at(entry: Due, now: float) -> str:
    try:
        domain = store.get(entry.key)
        if domain is None or domain.check_ms != entry.at_ms:
            due.remove(entry)
            return "stale"
        return _reverify(domain, now)
    except WriteConflict:
        return "failed"  # another writer came first; the entry is still due
    except Exception:
        _log.exception("looking at the sending domain %s failed", entry.key)
        due.postpone(entry, int(now * 1000))
        return "failed"


def _reverify(domain: SendingDomain, now: float) -> str:
    asked = [check for check in DNS_CHECKS if getattr(domain.status, check) != UNVERIFIED]
    checks = check_dns(domain, [check.removesuffix("_status") for check in asked])
    _reverify_keys(domain.domain)
    after = checks.apply_to(domain, domain, now)
    if is_grace_over(after, now):
        further_keys.clear(domain.domain)
        store.delete(domain)
        return "dropped"
    store.save(domain, after)
    was, now_is = domain.status.ownership_verified, after.status.ownership_verified
    if was == now_is:
        return "kept" if was else "unverified"
    return "lost" if was else "regained"


def _reverify_keys(domain: str) -> None:
    for key in further_keys.of_domain(domain):
        if key.status != UNVERIFIED:
            status = check_dkim(key.key).status_after(key.status)
            if status != key.status:
                further_keys.set_status(domain, key, status)
