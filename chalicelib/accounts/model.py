"""The account record and what the API shows of it (spec 2.7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

DEFAULT_OPTIONS: dict[str, Any] = {
    "smtp_tracking_default": False,
    "rest_tracking_default": True,
    "initial_open_pixel_tracking": True,
    "transactional_default": False,
    "inline_seeds": True,
}

UNLIMITED = -1


def iso_day(moment: float) -> str:
    """Format seconds as the ISO date with milliseconds that account records carry."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True, slots=True)
class Account:
    """One account. Times are seconds since the epoch."""

    customer_id: int
    company_name: str
    created: float
    updated: float
    country_code: str = "US"
    status: str = "active"
    status_reason_category: str = ""
    status_updated: float = 0.0
    tfa_required: bool = False
    service_level: str = "standard"
    subscription: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def option(self, name: str) -> Any:
        """Return the account's choice for ``name``, or the service's default."""
        return self.options.get(name, DEFAULT_OPTIONS.get(name))

    def as_json(self) -> dict[str, Any]:
        """Return the account as ``GET /account`` shows it."""
        return {
            "customer_id": self.customer_id,
            "company_name": self.company_name,
            "country_code": self.country_code,
            "anniversary_date": iso_day(self.created),
            "created": iso_day(self.created),
            "updated": iso_day(self.updated),
            "status": self.status,
            "status_reason_category": self.status_reason_category,
            "status_updated": iso_day(self.status_updated or self.created),
            "tfa_required": self.tfa_required,
            "service_level": self.service_level,
            "subscription": self.subscription,
            "options": DEFAULT_OPTIONS | self.options,
            "support": {"phone": False, "online": True},
        }


def self_hosted_plan(now: float) -> dict[str, Any]:
    """Return the subscription of an account that has no sending limit of its own."""
    return {
        "code": "self-hosted",
        "name": "Self-hosted",
        "plan_volume": UNLIMITED,
        "effective_date": iso_day(now),
        "self_serve": False,
        "type": "default",
    }
