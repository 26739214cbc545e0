"""Tell whether an account may receive mail for a name.

An inbound domain needs no proof, since it gets mail only where its MX records lead to the service.
But the proof of another account counts more: as soon as that has verified a sending domain of this
name, or of a name above it, the inbound domain receives nothing. A name that the operator has
blocked, or one above it, receives nothing either.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from chalicelib.core.domain_names import parents
from chalicelib.core.dynamo import AnyItem, Key
from chalicelib.core.reading import Read
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.model import SendingDomain


class Obstacle(Enum):
    """Why an account may not receive mail for a name."""

    BLOCKED = "blocked"
    OTHER_OWNER = "other owner"


def find_obstacle(name: str, account_id: int, read: Read) -> Obstacle | None:
    """Return what keeps an account from receiving mail for a name, ``None`` if nothing does."""
    names = (name, *parents(name))
    claim_keys = [claims.key_of(each) for each in names]
    domain_keys = [sending_domains.key_of(each) for each in names]
    items: Mapping[Key, AnyItem] = read([*claim_keys, *domain_keys])
    if any(items[key].get("blocked") for key in claim_keys if key in items):
        return Obstacle.BLOCKED
    domains = [sending_domains.from_item(items[key]) for key in domain_keys if key in items]
    is_of_other = any(_is_proof_of_other(each, account_id) for each in domains)
    return Obstacle.OTHER_OWNER if is_of_other else None


def _is_proof_of_other(domain: SendingDomain, account_id: int) -> bool:
    return domain.status.ownership_verified and domain.account_id != account_id
