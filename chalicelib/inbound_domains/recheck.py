"""Check the MX records of inbound domains again.

A schedule calls :func:`reverify_due`; how often does not matter. A run may be repeated or cut off
without harm: an entry stays due until the domain is written with the time of its next check, and
entries that match no domain are removed.
"""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from chalicelib.core import due
from chalicelib.core.due import Due
from chalicelib.core.dynamo import WriteConflict
from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.mx_check import check_mx

_log = logging.getLogger(__name__)

_THREADS = 8  # most of the time is spent waiting for the DNS
_MAX_DOMAINS = 400  # in one call


def reverify_due(now_ms: int) -> dict[str, int]:
    """Check the domains that are due at ``now_ms``, the longest due first.

    Returns the number of domains by result: their new ``mx_status``, ``stale`` (the entry matched
    no domain) and ``failed`` (checked again later). Costs one request when nothing is due.
    """
    entries = due.find(store.CONCERN, now_ms, limit=_MAX_DOMAINS)
    if not entries:
        return {}
    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(Counter(pool.map(lambda entry: _check_entry(entry, now_ms), entries)))


def _check_entry(entry: Due, now_ms: int) -> str:
    try:
        domain = store.get(entry.key)
        if domain is None or domain.check_ms != entry.at_ms:
            due.remove(entry)
            return "stale"
        after = check_mx(domain).apply_to(domain, now_ms)
        store.save(domain, after)
        return after.mx_status
    except WriteConflict:
        return "failed"  # another writer came first; the entry is still due
    except Exception:
        _log.exception("checking the inbound domain %s failed", entry.key)
        due.postpone(entry, now_ms)
        return "failed"
