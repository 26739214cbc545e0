"""The service's own mail domain that a customer's records lead to (spec 2.5 rule 3).

That of a standard account is ``SYSTEM_DOMAIN``, one for each region; an enterprise account has one
of its own.
"""

from __future__ import annotations

from chalicelib.accounts.store import accounts
from chalicelib.core.settings import settings


def is_enterprise(account_id: int) -> bool:
    """Tell whether the account is an enterprise one."""
    try:
        return accounts.get_cached(account_id).is_enterprise
    except accounts.UnknownAccount:
        return False


def mail_domain(account_id: int) -> str:
    """Return the name that CNAME and MX records of the account's domains lead to."""
    system = settings().system_domain.lower()
    if not is_enterprise(account_id):
        return system
    return settings().tenant_domain.format(account=account_id, system=system).lower()
