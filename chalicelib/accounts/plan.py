"""A plan: what an account may send, and how its subscription is shown (spec 2.7, 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.core import clock

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Limits:
    """The most recipients that are accepted in an hour, a day and a month; ``None``: no limit."""

    hourly: int | None = None
    daily: int | None = None
    monthly: int | None = None

    @property
    def any(self) -> bool:
        """Tell whether there is a limit at all."""
        return (self.hourly, self.daily, self.monthly) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan, in force from ``effective`` (seconds) on."""

    code: str
    name: str
    effective: float
    type: str = "default"
    self_serve: bool = False
    hourly: int | None = None
    daily: int | None = None
    monthly: int | None = None

    @property
    def limits(self) -> Limits:
        """Return the plan's limits."""
        return Limits(self.hourly, self.daily, self.monthly)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as the account's ``subscription``."""
        return {
            "code": self.code,
            "name": self.name,
            "plan_volume": UNLIMITED if self.monthly is None else self.monthly,
            "effective_date": iso_date(self.effective),
            "self_serve": self.self_serve,
            "type": self.type,
        }

    def as_pending(self) -> dict[str, Any]:
        """Return the plan as the account's ``pending_subscription``."""
        return {
            "code": self.code,
            "name": self.name,
            "effective_date": iso_date(self.effective),
        }


def self_hosted_plan(now: float) -> Plan:
    """Return the plan of an account that has no sending limit of its own."""
    return Plan("self-hosted", "Self-hosted", now)


def iso_date(moment: float) -> str:
    """Format seconds as the ISO date with milliseconds that account records carry."""
    return clock.iso_ms(int(moment) * 1000)
