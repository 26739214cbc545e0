"""Describe an account: its plan, status, limits and options (spec 2.7)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from chalicelib.accounts.plan import Limits, Plan
from chalicelib.core import clock
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
    """A cancellation that was requested and has not taken effect. Times are seconds."""

    created: float
    effective: float
    requesting_user: str


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
        return self.all_options().get(name)

    def all_options(self) -> dict[str, Any]:
        """Return every option: by default SMTP mail is tracked for enterprise accounts only."""
        return DEFAULT_OPTIONS | {"smtp_tracking_default": self.is_enterprise} | self.options

    def limits(self, now: float) -> Limits:
        """Return the limits that apply at a time."""
        plan = self.at(now).subscription
        return plan.limits if plan else Limits()

    def at(self, now: float) -> Account:
        """Return the account as it is at a time: a pending plan starts by itself."""
        pending = self.pending_subscription
        if pending is None or pending.effective > now:
            return self
        return replace(self, subscription=pending, pending_subscription=None)

    def check_may_send(self) -> None:
        """Raise 403 unless the account is active; requests that only read do not check this."""
        if self.status != ACTIVE:
            raise Forbidden(f"the account is {self.status} and cannot send")


def shown_fields(account: Account) -> dict[str, Any]:
    """Return the fields of an account that the audit log tells about."""
    return {
        "company_name": account.company_name,
        "country_code": account.country_code,
        "status": account.status,
        "status_reason_category": account.status_reason_category,
        "tfa_required": account.tfa_required,
        "service_level": account.service_level,
        "subscription": _plan_fields(account.subscription),
        "pending_subscription": _plan_fields(account.pending_subscription),
        "pending_cancellation": _cancellation_fields(account.pending_cancellation),
        "options": account.all_options(),
    }


def _plan_fields(plan: Plan | None) -> dict[str, Any] | None:
    return asdict(plan) | {"effective": clock.iso_ms(int(plan.effective) * 1000)} if plan else None


def _cancellation_fields(cancellation: Cancellation | None) -> dict[str, Any] | None:
    if cancellation is None:
        return None
    return {
        "effective": clock.iso_ms(int(cancellation.effective) * 1000),
        "requesting_user": cancellation.requesting_user,
    }
