"""Find the DKIM keys that a pool adds to the From domain's own (spec 2.8).

``signing_domain`` signs mail whose From domain has no verified key. ``fbl_signing_domain`` signs,
in addition, mail to hosts that send complaint reports to the domain that signed a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chalicelib.core.scope import Scope
from chalicelib.dkim.model import DkimKey
from chalicelib.fleet import store
from chalicelib.sending_domains import store as domains

#  Mailbox domains, other than yahoo.*, whose hosts address complaint reports by the DKIM domain
_FBL_DOMAINS: Final = {"aim.com", "aol.com", "att.net", "mail.ru", "rocketmail.com", "ymail.com"}


def pool_key(account_id: int, pool_id: str) -> DkimKey | None:
    """Return the key of the pool's signing domain, if it has a verified one."""
    pool = store.get_cached(account_id).pool_or_default(pool_id)
    return _key(account_id, pool.signing_domain)


def fbl_key(account_id: int, pool_id: str, recipient_domain: str) -> DkimKey | None:
    """Return the key that signs for feedback loops, if the recipient's host needs it."""
    domain = recipient_domain.lower()
    if domain not in _FBL_DOMAINS and not domain.startswith("yahoo."):
        return None
    pool = store.get_cached(account_id).pool_or_default(pool_id)
    return _key(account_id, pool.fbl_signing_domain)


def pools_signed_by(account_id: int, domain: str) -> Iterator[str]:
    """Yield the pools that sign with the keys of a domain."""
    for pool in store.get(account_id).pools:
        if domain in (pool.signing_domain, pool.fbl_signing_domain):
            yield f"IP pool {pool.id}"


def _key(account_id: int, name: str) -> DkimKey | None:
    domain = domains.find(Scope(account_id, None), name) if name else None
    return domain.signing_key if domain else None
