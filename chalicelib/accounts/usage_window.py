"""Count the recipients accepted in the last hours and compare them with a plan's limits.

The hour is a clock hour, the day is the 24 clock hours that end with the present one (a rolling day
in steps of an hour), and the month is a calendar month; all in UTC. Within an hour only the count
of that hour changes. So "is there room for n more" is one comparison, which a conditional write can
make.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from chalicelib.accounts.plan import Limits
from chalicelib.core.errors import ApiError, sending_limit_exceeded

HOUR = 3600
_HOURS_BEFORE = 23


@dataclass(frozen=True, slots=True)
class UsageWindow:
    """The counts as of one clock hour.

    ``hour`` counts hours since the epoch and ``used`` what was accepted in it; ``past`` are the 23
    hours before, newest first, and ``earlier`` the sum of the month's hours before. ``last`` is
    when something was last accepted, in seconds.
    """

    hour: int = 0
    used: int = 0
    past: tuple[int, ...] = ()
    earlier: int = 0
    last: float = 0.0

    def at(self, hour: int) -> UsageWindow:
        """Return the counts as of a later hour; those of a later hour than ``hour`` stay."""
        hours = hour - self.hour
        if hours <= 0:
            return self
        empty = (0,) * min(hours - 1, _HOURS_BEFORE)
        past = (*empty, self.used, *self.past) if hours <= _HOURS_BEFORE else ()
        same_month = month_of(hour) == month_of(self.hour)
        earlier = self.earlier + self.used if same_month else 0
        return UsageWindow(hour, 0, past[:_HOURS_BEFORE], earlier, self.last)

    def plus(self, other: UsageWindow) -> UsageWindow:
        """Return the sum of two counts of one account."""
        hour = max(self.hour, other.hour)
        one, two = self.at(hour), other.at(hour)
        length = max(len(one.past), len(two.past))
        pairs = zip(_with_zeros(one.past, length), _with_zeros(two.past, length), strict=True)
        return UsageWindow(
            hour,
            one.used + two.used,
            tuple(first + second for first, second in pairs),
            one.earlier + two.earlier,
            max(one.last, two.last),
        )

    def without(self, recipients: int, hour: int) -> UsageWindow:
        """Return the counts without recipients that were counted in ``hour``.

        One of several counters may go below zero; their sum does not.
        """
        age = self.hour - hour
        if age <= 0:
            return replace(self, used=self.used - recipients)
        past, earlier = self.past, self.earlier
        if age <= _HOURS_BEFORE:
            counts = _with_zeros(past, age)
            past = (*counts[: age - 1], counts[age - 1] - recipients, *counts[age:])
        if month_of(hour) == month_of(self.hour):
            earlier -= recipients
        return replace(self, past=past, earlier=earlier)

    def with_more(self, recipients: int, hour: int) -> UsageWindow:
        """Return the counts with recipients that are counted in ``hour``."""
        return self.without(-recipients, hour)

    @property
    def day(self) -> int:
        """Return the count of the rolling day."""
        return self.used + sum(self.past)

    @property
    def month(self) -> int:
        """Return the count of the month."""
        return self.used + self.earlier

    def most(self, limits: Limits) -> int | None:
        """Return the most that ``used`` may reach within the hour; ``None`` without limits."""
        bounds = [
            limit - before
            for limit, before in (
                (limits.hourly, 0),
                (limits.daily, sum(self.past)),
                (limits.monthly, self.earlier),
            )
            if limit is not None
        ]
        return min(bounds, default=None)

    def check(self, recipients: int, limits: Limits) -> None:
        """Raise 420 with the limit that ``recipients`` more would exceed (spec 7)."""
        for name, limit, used in (
            ("hourly", limits.hourly, self.used),
            ("daily", limits.daily, self.day),
            ("monthly", limits.monthly, self.month),
        ):
            if limit is not None and used + recipients > limit:
                raise exceeded(name, limit, used)


def exceeded(name: str, limit: int, used: int) -> ApiError:
    """Return the refusal for any limit, 420 with code 2101: nothing is sent (spec 7, 8)."""
    text = f"{used} of {limit} recipients of the {name} limit are used"
    return sending_limit_exceeded(name, text)


def hour_of(moment: float) -> int:
    """Return the clock hour of a time in seconds."""
    return int(moment // HOUR)


def month_of(hour: int) -> tuple[int, int]:
    """Return the year and month of a clock hour."""
    moment = datetime.fromtimestamp(hour * HOUR, UTC)
    return moment.year, moment.month


def month_bounds(hour: int) -> tuple[float, float]:
    """Return when the month of a clock hour starts and when it ends, in seconds."""
    year, month = month_of(hour)
    start = datetime(year, month, 1, tzinfo=UTC)
    end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return start.timestamp(), end.timestamp()


def _with_zeros(counts: tuple[int, ...], length: int) -> tuple[int, ...]:
    return counts + (0,) * (length - len(counts))
