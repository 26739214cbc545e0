"""The account record and what the API shows of it (spec 2.7)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from chalicelib.accounts.plan import Limits, Plan, iso_date
from chalicelib.core.errors import Forbidden

DEFAULT_OPTIONS: dict[str, Any] = {
    "smtp_tracking_default": False,
    "rest_tracking_default": True,
    "click_tracking": True,
    "initial_open_pixel_tracking": True,
    "transactional_default": False,
    "transactional_unsub": False,
    "inline_seeds": True,
}

ACTIVE: Final = "active"
STATUSES: Final = (ACTIVE, "suspended", "terminated")
STANDARD: Final = "standard"
ENTERPRISE: Final = "enterprise"
SERVICE_LEVELS: Final = (STANDARD, ENTERPRISE)


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A cancellation that was asked for and has not taken effect. Times are seconds."""

    created: float
    effective: float
    requesting_user: str

    def as_json(self) -> dict[str, Any]:
        """Return it as the account's ``pending_cancellation``."""
        return {
            "creation_date": iso_date(self.created),
            "effective_date": iso_date(self.effective),
            "requesting_user": self.requesting_user,
        }


@dataclass(frozen=True, slots=True)
class Account:
    """One account. Times are seconds since the epoch."""

    customer_id: int
    company_name: str
    created: float
    updated: float
    country_code: str = "US"
    status: str = ACTIVE
    status_reason_category: str = ""
    status_updated: float = 0.0
    tfa_required: bool = False
    service_level: str = STANDARD
    subscription: Plan | None = None
    pending_subscription: Plan | None = None
    pending_cancellation: Cancellation | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_enterprise(self) -> bool:
        """Tell whether the account is an enterprise one."""
        return self.service_level == ENTERPRISE

    def option(self, name: str) -> Any:
        """Return the account's choice for ``name``, or the service's default."""
        return self._options_in_force.get(name)

    @property
    def _options_in_force(self) -> dict[str, Any]:
        """Return every option: mail that came over SMTP is tracked for enterprise accounts only."""
        return DEFAULT_OPTIONS | {"smtp_tracking_default": self.is_enterprise} | self.options

    def limits(self, now: float) -> Limits:
        """Return the limits in force."""
        plan = self.at(now).subscription
        return plan.limits if plan else Limits()

    @property
    def is_limited(self) -> bool:
        """Tell whether the account's plan has limits, or that which is to come."""
        plans = (self.subscription, self.pending_subscription)
        return any(plan.limits.any for plan in plans if plan)

    def at(self, now: float) -> Account:
        """Return the account as it is at a time: a pending plan comes into force by itself."""
        pending = self.pending_subscription
        if pending is None or pending.effective > now:
            return self
        return replace(self, subscription=pending, pending_subscription=None)

    def check_may_send(self) -> None:
        """Raise 403 unless the account is active; reading does not ask."""
        if self.status != ACTIVE:
            raise Forbidden(f"the account is {self.status} and cannot send")

    def as_json(self) -> dict[str, Any]:
        """Return the account as ``GET /account`` shows it."""
        shown = {
            "customer_id": self.customer_id,
            "company_name": self.company_name,
            "country_code": self.country_code,
            "anniversary_date": iso_date(self.created),
            "created": iso_date(self.created),
            "updated": iso_date(self.updated),
            "status": self.status,
            "status_reason_category": self.status_reason_category,
            "status_updated": iso_date(self.status_updated or self.created),
            "tfa_required": self.tfa_required,
            "service_level": self.service_level,
            "subscription": self.subscription.as_json() if self.subscription else {},
            "options": self._options_in_force,
            "support": {"phone": False, "online": True},
        }
        if self.pending_subscription:
            shown["pending_subscription"] = self.pending_subscription.as_pending()
        if self.pending_cancellation:
            shown["pending_cancellation"] = self.pending_cancellation.as_json()
        return shown
