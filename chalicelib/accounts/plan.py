"""Describe plans and their sending limits (spec 2.7, 8)."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A plan that applies from ``effective`` (seconds) on."""

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


def self_hosted_plan(now: float) -> Plan:
    """Return the plan of an account that has no sending limit of its own."""
    return Plan("self-hosted", "Self-hosted", now)
