"""List the descriptions of all operations, by resource."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi import (
    ab_tests,
    accounts,
    api_keys,
    audit_log,
    delivery,
    domain_reports,
    events,
    inbound_domains,
    inbound_messages,
    ip_pools,
    metrics,
    recipient_lists,
    recipient_validation,
    relay_webhooks,
    second_factor,
    seeding,
    sender_requirements,
    sending_domains,
    single_sign_on,
    snippets,
    subaccounts,
    suppression,
    templates,
    tracking,
    tracking_domains,
    transmissions,
    users,
    webhooks,
)
from chalicelib.openapi.operation import Operation, Operations, json, results
from chalicelib.openapi.schema import mapping, record, text

_SERVICE: Final[Operations] = {
    "GET /api/v1": Operation(results(record(name=text(), version=text()))),
    "GET /openapi.json": Operation(json(mapping())),
    "GET /docs/postman.json": Operation(json(mapping())),
}

RESOURCES: Final[dict[str, Operations]] = {
    "Transmissions": transmissions.OPERATIONS,
    "Templates": templates.OPERATIONS,
    "Snippets": snippets.OPERATIONS,
    "A/B tests": ab_tests.OPERATIONS,
    "Recipient lists": recipient_lists.OPERATIONS,
    "Recipient validation": recipient_validation.OPERATIONS,
    "Sending domains": sending_domains.OPERATIONS,
    "Tracking domains": tracking_domains.OPERATIONS,
    "Inbound domains": inbound_domains.OPERATIONS,
    "Sender requirements": sender_requirements.OPERATIONS,
    "Domain reports": domain_reports.OPERATIONS,
    "Subaccounts": subaccounts.OPERATIONS,
    "API keys": api_keys.OPERATIONS,
    "Account": accounts.OPERATIONS,
    "Users": users.OPERATIONS,
    "Second factor": second_factor.OPERATIONS,
    "Single sign-on": single_sign_on.OPERATIONS,
    "Audit log": audit_log.OPERATIONS,
    "IP pools": ip_pools.OPERATIONS,
    "Delivery": delivery.OPERATIONS,
    "Suppression list": suppression.OPERATIONS,
    "Webhooks": webhooks.OPERATIONS,
    "Relay webhooks": relay_webhooks.OPERATIONS,
    "Inbound messages": inbound_messages.OPERATIONS,
    "Events": events.OPERATIONS,
    "Metrics": metrics.OPERATIONS,
    "Seeding": seeding.OPERATIONS,
    "Engagement": tracking.OPERATIONS,
    "Service": _SERVICE,
}
"""Tag → operations, in the order of the document."""
