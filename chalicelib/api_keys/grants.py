"""The grants that a key can carry (spec 5.3 for subaccounts' keys)."""

from __future__ import annotations

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

PRIMARY_GRANTS = SUBACCOUNT_GRANTS | {
    "ab-testing/manage",
    "account/manage",
    "account/read-write",
    "account/view",
    "alerts/manage",
    "alerts/view",
    "api_keys/manage",
    "billing/manage",
    "events/ingest",
    "grants/view",
    "inbound_domains/manage",
    "inbox-placement/manage",
    "ip_pools/manage",
    "ip_pools/view",
    "metrics/view",
    "recipient-validation/manage",
    "recipient-validation/preview",
    "recipient_lists/manage",
    "relay_webhooks/modify",
    "relay_webhooks/view",
    "signals/manage",
    "signals/view",
    "subaccount/manage",
    "subaccount/view",
    "support/manage",
    "templates/modify",
    "templates/preview",
    "templates/view",
    "usage/view",
    "users/manage",
    "users/self-manage",
    "users/token-manage",
}
