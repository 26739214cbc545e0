"""List the grants that a key can carry (spec 5.3 for keys of subaccounts), and which are used.

The list has grants for parts that this service does not have. Keys may carry them, and nothing
asks for them: :func:`used` tells them apart by the routes, so that nobody is offered one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:  # the containers have no chalice
    from chalicelib.core.routes import DeclaredRoute


class Grant(NamedTuple):
    """A grant as a person chooses it."""

    key: str
    label: str
    description: str


GRANTS = (
    Grant("ab-testing/manage", "A/B Testing: Manage", "Create, change and run A/B tests"),
    Grant("account/manage", "Account: Manage", "Change the account"),
    Grant("account/read-write", "Account: Read/Write", "Read and change the account's settings"),
    Grant("account/view", "Account: Read-only", "Read the account and its usage"),
    Grant("alerts/manage", "Alerts: Manage", "Create and change alerts"),
    Grant("alerts/view", "Alerts: Read-only", "Read alerts"),
    Grant("api_keys/manage", "API Keys: Manage", "Create, change and delete API keys"),
    Grant("audit_log/view", "Audit Log: Read-only", "Read who changed what, and who signed in"),
    Grant("billing/manage", "Billing: Manage", "Read and change billing"),
    Grant("events/ingest", "Events: Ingest", "Upload events of other senders"),
    Grant("grants/view", "Grants: Read-only", "List the grants that keys can carry"),
    Grant("inbound_domains/manage", "Inbound Domains: Manage", "Manage domains that receive mail"),
    Grant("inbox-placement/manage", "Inbox Placement: Manage", "Manage inbox placement tests"),
    Grant("ip_pools/manage", "IP Pools: Manage", "Manage IP pools and sending IPs"),
    Grant("ip_pools/view", "IP Pools: Read-only", "Read IP pools and sending IPs"),
    Grant("message_events/view", "Message Events: Read-only", "Search message events"),
    Grant("metrics/view", "Metrics: Read-only", "Read metrics"),
    Grant(
        "recipient-validation/manage", "Recipient Validation: Manage", "Validate lists of addresses"
    ),
    Grant(
        "recipient-validation/preview", "Recipient Validation: Preview", "Validate single addresses"
    ),
    Grant("recipient_lists/manage", "Recipient Lists: Manage", "Manage stored recipient lists"),
    Grant("relay_webhooks/modify", "Relay Webhooks: Read/Write", "Manage relay webhooks"),
    Grant("relay_webhooks/view", "Relay Webhooks: Read-only", "Read relay webhooks"),
    Grant("sending_domains/manage", "Sending Domains: Manage", "Manage and verify sending domains"),
    Grant("sending_domains/view", "Sending Domains: Read-only", "Read sending domains"),
    Grant("signals/manage", "Signals: Manage", "Manage signals"),
    Grant("signals/view", "Signals: Read-only", "Read signals"),
    Grant("smtp/inject", "Send via SMTP", "Send messages through the SMTP relay"),
    Grant("subaccount/manage", "Subaccounts: Manage", "Create and change subaccounts"),
    Grant("subaccount/view", "Subaccounts: Read-only", "Read subaccounts"),
    Grant("support/manage", "Support: Manage", "Open and follow support requests"),
    Grant("suppression_lists/manage", "Suppression Lists: Manage", "Manage the suppression list"),
    Grant("templates/modify", "Templates: Read/Write", "Create, change and delete templates"),
    Grant("templates/preview", "Templates: Preview", "Render templates"),
    Grant("templates/view", "Templates: Read-only", "Read templates"),
    Grant("tracking_domains/manage", "Tracking Domains: Manage", "Manage tracking domains"),
    Grant("tracking_domains/view", "Tracking Domains: Read-only", "Read tracking domains"),
    Grant("transmissions/modify", "Transmissions: Read/Write", "Send and cancel transmissions"),
    Grant("transmissions/view", "Transmissions: Read-only", "Read transmissions"),
    Grant("usage/view", "Usage: Read-only", "Read how much of the plan is used"),
    Grant("users/manage", "Users: Manage", "Manage users"),
    Grant("users/self-manage", "Users: Self-manage", "Change one's own user"),
    Grant("users/token-manage", "Users: Manage Tokens", "Manage users' tokens"),
    Grant("users/view", "Users: Read-only", "Read users and their roles"),
    Grant("webhooks/modify", "Event Webhooks: Read/Write", "Manage event webhooks"),
    Grant("webhooks/view", "Event Webhooks: Read-only", "Read event webhooks"),
)

PRIMARY_GRANTS = frozenset(grant.key for grant in GRANTS)

SUBACCOUNT_GRANTS = frozenset(
    {
        "smtp/inject",
        "sending_domains/manage",
        "tracking_domains/view",
        "tracking_domains/manage",
        "message_events/view",
        "suppression_lists/manage",
        "transmissions/view",
        "transmissions/modify",
        "webhooks/view",
        "webhooks/modify",
    }
)


#: Grant → another that it includes
_INCLUDES = {"sending_domains/manage": "sending_domains/view", "users/manage": "users/view"}


def with_included(grants: Iterable[str]) -> frozenset[str]:
    """Return grants with those that they include."""
    own = frozenset(grants)
    more = [each for grant, each in _INCLUDES.items() if grant in own and each not in own]
    return own.union(more) if more else own


def supported(subaccount_id: int | None) -> frozenset[str]:
    """Return the grants that a key of this owner can carry."""
    return SUBACCOUNT_GRANTS if subaccount_id else PRIMARY_GRANTS


#: Grants that are asked for elsewhere than at a route: at the login over SMTP
_BESIDE_ROUTES: Final = frozenset({"smtp/inject"})

_routes: Callable[[], Iterable[DeclaredRoute]] = tuple


def set_routes(routes: Callable[[], Iterable[DeclaredRoute]]) -> None:
    """Say where the service's routes are declared, for :func:`used`."""
    global _routes
    _routes = routes


def used() -> frozenset[str]:
    """Return the grants without which something is refused; the others change nothing."""
    return PRIMARY_GRANTS & (_BESIDE_ROUTES | {route.grant for route in _routes()})
