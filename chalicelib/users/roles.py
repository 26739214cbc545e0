"""Say what each role may do: a role is a set of the grants that API keys carry.

A user who is tied to a subaccount holds those of its role that make sense there
(:data:`CONFINED_GRANTS`): everything else is about the account as a whole. Keys of subaccounts hold
fewer (spec 5.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS, with_included

ADMIN: Final = "admin"
DEVELOPER: Final = "developer"
TEMPLATES: Final = "templates"
REPORTING: Final = "reporting"
CUSTOM: Final = "custom"
ROLES: Final = (ADMIN, DEVELOPER, TEMPLATES, REPORTING, CUSTOM)
#: The roles of users who may be tied to a subaccount
CONFINABLE: Final = (DEVELOPER, REPORTING)

#: What only administrators do: users, security and the account itself
_SECURITY = frozenset(
    {
        "account/manage",
        "account/read-write",
        "audit_log/view",
        "billing/manage",
        "support/manage",
        "users/manage",
        "users/token-manage",
        "users/view",
    }
)
_LOOKS = frozenset(
    {
        "account/view",
        "ip_pools/view",
        "message_events/view",
        "metrics/view",
        "sending_domains/view",
        "subaccount/view",
        "tracking_domains/view",
        "usage/view",
        "users/self-manage",
    }
)
_GRANTS: Final = {
    ADMIN: PRIMARY_GRANTS,
    DEVELOPER: PRIMARY_GRANTS - _SECURITY,
    TEMPLATES: _LOOKS
    | {
        "ab-testing/manage",
        "grants/view",
        "recipient_lists/manage",
        "suppression_lists/manage",
        "templates/modify",
        "templates/preview",
        "templates/view",
    },
    REPORTING: _LOOKS,
}
#: The grants that act within one subaccount
CONFINED_GRANTS: Final = SUBACCOUNT_GRANTS | {
    "ab-testing/manage",
    "api_keys/manage",
    "grants/view",
    "metrics/view",
    "sending_domains/view",
    "templates/modify",
    "templates/preview",
    "templates/view",
    "users/self-manage",
}


def roles_with(grant: str) -> list[str]:
    """Return the roles whose users hold ``grant``, in the order of ``ROLES``."""
    return [role for role in ROLES if grant in grants_of(role)]


def grants_of(
    role: str, chosen_grants: Iterable[str] = (), subaccount_id: int | None = None
) -> frozenset[str]:
    """Return the grants of a user; ``chosen_grants`` are those of the role ``custom``."""
    grants = with_included(_GRANTS.get(role, chosen_grants))
    return grants & CONFINED_GRANTS if subaccount_id else grants
