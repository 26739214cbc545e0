"""The DKIM keys that a pool brings beside the From domain's own (spec 2.8).

``signing_domain`` signs mail whose From domain has no verified key. ``fbl_signing_domain`` signs,
in addition, mail to hosts that send their complaint reports to whoever signed a message.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chalicelib.core.errors import bad_request
from chalicelib.core.scope import Scope
from chalicelib.dkim.model import DkimKey
from chalicelib.ip_pools import store
from chalicelib.ip_pools.request import PoolFields
from chalicelib.sending_domains import store as domains

#: Mailbox domains whose hosts address complaint reports by the DKIM domain, beside yahoo.*
_FBL_DOMAINS: Final = {"aim.com", "aol.com", "att.net", "mail.ru", "rocketmail.com", "ymail.com"}


def pool_key(account_id: int, pool_id: str) -> DkimKey | None:
    """Return the key of the pool's signing domain, if it has one that is verified."""
    return _key(account_id, store.acting(account_id).in_force(pool_id).signing_domain)


def fbl_key(account_id: int, pool_id: str, recipient_domain: str) -> DkimKey | None:
    """Return the key that signs for feedback loops, where the recipient's host needs it."""
    domain = recipient_domain.lower()
    if domain not in _FBL_DOMAINS and not domain.startswith("yahoo."):
        return None
    return _key(account_id, store.acting(account_id).in_force(pool_id).fbl_signing_domain)


def check_domains(account_id: int, fields: PoolFields) -> PoolFields:
    """Return the fields with their domains as they are kept.

    Raises 400 unless each is a sending domain of the account with a verified DKIM record.
    """
    return replace(
        fields,
        signing_domain=_checked(account_id, "signing_domain", fields.signing_domain),
        fbl_signing_domain=_checked(account_id, "fbl_signing_domain", fields.fbl_signing_domain),
    )


def _checked(account_id: int, field: str, name: str | None) -> str | None:
    if not name:
        return name
    found = domains.find(Scope(account_id, None), name)
    if found is None or found.signing_key is None:
        raise bad_request(f"{field} must be a sending domain with a verified DKIM record")
    return found.domain


def _key(account_id: int, name: str) -> DkimKey | None:
    found = domains.find(Scope(account_id, None), name) if name else None
    return found.signing_key if found else None
