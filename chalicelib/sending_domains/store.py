"""Where sending domains are kept.

Access patterns (table ``config``):

- one domain, whoever owns it → ``pk = domain#<name>``, ``sk = domain``
- all domains of an account, by name → index ``by_owner``: ``owner = account#<id>/domains``
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from chalicelib.core.dynamo import ConditionFailed, Table
from chalicelib.sending_domains.model import DkimKey, DomainStatus, SendingDomain

_config = Table("config")


def get(domain: str) -> SendingDomain | None:
    """Return the domain, whoever owns it, or ``None``."""
    item = _config.get(f"domain#{domain.lower()}", "domain")
    return _from_item(item) if item else None


def create(domain: SendingDomain) -> bool:
    """Store a new domain; return ``False`` if the name is taken."""
    try:
        _config.create(_to_item(domain))
    except ConditionFailed:
        return False
    return True


def _to_item(domain: SendingDomain) -> dict[str, Any]:
    return asdict(domain) | {
        "pk": f"domain#{domain.domain.lower()}",
        "sk": "domain",
        "owner": f"account#{domain.account_id}/domains",
        "owner_key": domain.domain.lower(),
    }


def _from_item(item: dict[str, Any]) -> SendingDomain:
    return SendingDomain(
        domain=item["domain"],
        account_id=item["account_id"],
        created=item["created"],
        status=DomainStatus(**item["status"]),
        dkim=DkimKey(**item["dkim"]) if item["dkim"] else None,
        subaccount_id=item["subaccount_id"],
        tracking_domain=item["tracking_domain"],
        shared_with_subaccounts=item["shared_with_subaccounts"],
        is_default_bounce_domain=item["is_default_bounce_domain"],
    )
