"""Show accounts (spec 2.7) and their usage of their plans (``GET /usage``)."""

from __future__ import annotations

from chalicelib.accounts.model import Account, Cancellation
from chalicelib.accounts.plan import UNLIMITED, Plan
from chalicelib.accounts.store import sandbox, usage
from chalicelib.accounts.usage_window import HOUR, UsageWindow, hour_of, month_bounds
from chalicelib.core import clock
from chalicelib.core.json_types import Json


def account_view(account: Account) -> Json:
    """Return the account as ``GET /account`` shows it."""
    created = iso_date(account.created)
    view: Json = {
        "customer_id": account.customer_id,
        "company_name": account.company_name,
        "country_code": account.country_code,
        "anniversary_date": created,
        "created": created,
        "updated": iso_date(account.updated),
        "status": account.status,
        "status_reason_category": account.status_reason_category,
        "status_updated": iso_date(account.status_updated or account.created),
        "tfa_required": account.tfa_required,
        "service_level": account.service_level,
        "subscription": _plan_view(account.subscription) if account.subscription else {},
        "options": account.all_options(),
        "support": {"phone": False, "online": True},
    }
    if account.pending_subscription:
        view["pending_subscription"] = _pending_plan_view(account.pending_subscription)
    if account.pending_cancellation:
        view["pending_cancellation"] = _cancellation_view(account.pending_cancellation)
    return view


def usage_view(account: Account) -> Json:
    """Return the account's ``usage``; the limit is -1 where there is none."""
    window, sandbox_count = usage.get(account.customer_id)
    return {
        "timestamp": iso_date(clock.now()),
        **_periods(account, window),
        "sandbox": {"used": sandbox_count, "limit": sandbox.SANDBOX_MESSAGES},
    }


def features_view(account: Account) -> Json:
    """Return the usage by feature of the plan; recipient validation is not offered."""
    window, _ = usage.get(account.customer_id)
    return {
        "messaging": _feature(account, window),
        "recipient_validation": _feature(account, UsageWindow()),
    }


def _plan_view(plan: Plan) -> Json:
    return {
        "code": plan.code,
        "name": plan.name,
        "plan_volume": UNLIMITED if plan.monthly is None else plan.monthly,
        "effective_date": iso_date(plan.effective),
        "self_serve": plan.self_serve,
        "type": plan.type,
    }


def _pending_plan_view(plan: Plan) -> Json:
    return {"code": plan.code, "name": plan.name, "effective_date": iso_date(plan.effective)}


def _cancellation_view(cancellation: Cancellation) -> Json:
    return {
        "creation_date": iso_date(cancellation.created),
        "effective_date": iso_date(cancellation.effective),
        "requesting_user": cancellation.requesting_user,
    }


def _feature(account: Account, window: UsageWindow) -> Json:
    view = _periods(account, window) | {"timestamp": iso_date(clock.now())}
    return view | ({"last_usage_date": iso_date(window.last)} if window.last else {})


def _periods(account: Account, window: UsageWindow) -> Json:
    now = clock.now()
    limits = account.limits(now)
    day_end = (hour_of(now) + 1) * HOUR
    return {
        "day": _period(limits.daily, window.day, day_end - 24 * HOUR, day_end),
        "month": _period(limits.monthly, window.month, *month_bounds(hour_of(now))),
    }


def _period(limit: int | None, used: int, start: float, end: float) -> Json:
    return {
        "limit": UNLIMITED if limit is None else limit,
        "used": used,
        "start": iso_date(start),
        "end": iso_date(end),
    }


def iso_date(moment: float) -> str:
    """Format seconds as the ISO date with milliseconds that account records carry."""
    return clock.iso_ms(int(moment) * 1000)
