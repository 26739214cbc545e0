"""How usage is shown: in ``GET /account?include=usage`` (spec 2.7) and in ``GET /usage``."""

from __future__ import annotations

from typing import Any

from chalicelib.accounts import usage
from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import UNLIMITED, iso_date
from chalicelib.accounts.usage_window import HOUR, Window, hour_of, month_bounds
from chalicelib.core import clock

Json = dict[str, Any]


def of_account(account: Account) -> Json:
    """Return the account's ``usage``; a limit that does not exist is -1."""
    window, sandbox = usage.used(account.customer_id)
    return {
        "timestamp": iso_date(clock.now()),
        **_periods(account, window),
        "sandbox": {"used": sandbox, "limit": usage.SANDBOX_MESSAGES},
    }


def of_features(account: Account) -> Json:
    """Return the usage of what a plan counts; validation of recipients is not offered."""
    window, _ = usage.used(account.customer_id)
    return {
        "messaging": _feature(account, window),
        "recipient_validation": _feature(account, Window()),
    }


def _feature(account: Account, window: Window) -> Json:
    shown = _periods(account, window) | {"timestamp": iso_date(clock.now())}
    return shown | ({"last_usage_date": iso_date(window.last)} if window.last else {})


def _periods(account: Account, window: Window) -> Json:
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
