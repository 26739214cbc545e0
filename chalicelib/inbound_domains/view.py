"""Build what the API shows of inbound domains."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.reading import read_config
from chalicelib.inbound_domains.model import InboundDomain, MailRoute
from chalicelib.inbound_domains.mx_check import PREFERENCE
from chalicelib.inbound_domains.ownership import Obstacle, find_obstacle
from chalicelib.sending_domains.lookup import mail_domain

ACTIVE: Final = "active"
_STATUSES: Final = {
    None: ACTIVE,
    Obstacle.BLOCKED: "blocked",
    Obstacle.OTHER_OWNER: "owned_by_other",
}
STATUSES: Final = tuple(_STATUSES.values())


def domain_view(domain: InboundDomain) -> dict[str, Any]:
    """Return the inbound domain object."""
    checked_ms = domain.mx_checked_ms
    view: dict[str, Any] = {
        "domain": domain.domain,
        "status": _STATUSES[find_obstacle(domain.domain, domain.account_id, read_config)],
        "mx_status": domain.mx_status,
        "mx_records": list(domain.mx_records),
        "mx_error": domain.mx_error,
        "mx_checked": None if checked_ms is None else clock.iso_ms(checked_ms),
        "dns_records": [dns_record_view(domain)],
        "relay_webhook_id": domain.relay_webhook_id or None,
        "created": clock.iso_ms(domain.created_ms),
    }
    if domain.subaccount_id is not None:
        view["subaccount_id"] = domain.subaccount_id
    return view


def dns_record_view(domain: InboundDomain) -> dict[str, Any]:
    """Return the record to publish, with the stored result of its check."""
    return {
        "purpose": "mx",
        "type": "MX",
        "name": domain.domain,
        "value": f"{PREFERENCE} {mail_domain(domain.account_id)}",
        "required": True,
        "status": domain.mx_status,
    }


def route_view(route: MailRoute) -> dict[str, Any]:
    """Return a route; ``forward_to`` is absent unless its action is ``forward``."""
    target = {"forward_to": route.forward_to} if route.forward_to else {}
    return {"pattern": route.pattern, "action": route.action.value, **target}
