"""Count all the events that a search finds, from counters where these are precise enough.

Recording counts events by the minute (``metrics``), so the count of a long window costs a few
requests. Counters hold the number of all events, and of those of some campaigns, subaccounts or
sending IPs. The parts of a window outside whole minutes are counted by reading their events, and so
is its last minute, because events are counted a moment after they can be found. All other searches
are counted by reading all their events, which reads up to 20,000 events of a bulk send in one
request.

Events that the counters counted and a search does not find are subtracted: events that were erased
since, and events of hidden campaigns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from chalicelib.core import clock
from chalicelib.events import documentation
from chalicelib.events.positions import EventWindow, position_at
from chalicelib.events.query_plan import QueryPlan
from chalicelib.events.store import erasures
from chalicelib.metrics.totals import MINUTE_MS, Unsettled, totals

#: Events older than this are counted, unless they were recorded late
SETTLED_MS: Final = 60_000

_COUNTED = ("campaigns", "subaccounts", "sending_ips")


class Narrowing(NamedTuple):
    """The dimension that a search filters by, empty for none, and its values."""

    dimension: str
    values: list[str]


def count(plan: QueryPlan, positions: Iterator[str]) -> int:
    """Return how many events a plan finds; ``positions`` are those of all of them, newest first."""
    window = plan.window
    settled = min(window.end, clock.now_ms() - SETTLED_MS)
    minutes = EventWindow(
        -(-window.start // MINUTE_MS) * MINUTE_MS, settled // MINUTE_MS * MINUTE_MS
    )
    if minutes.start < minutes.end and (plan.partitions is None or plan.campaigns is not None):
        settled_count = _count_minutes(plan, minutes)
        if settled_count is not None:
            newer = sum(1 for _ in takewhile(position_at(minutes.end).__le__, positions))
            older = sum(1 for _ in plan.find(EventWindow(window.start, minutes.start)))
            return newer + settled_count + older
    return sum(1 for _ in positions)


def _count_minutes(plan: QueryPlan, window: EventWindow) -> int | None:
    """Return the number of events in whole minutes, ``None`` if counters do not hold it."""
    narrowing = _narrowing(plan)
    hidden = sorted({name for day in plan.days for name in day.hidden})
    if narrowing is None or (hidden and narrowing.dimension not in ("", "campaigns")):
        return None
    types = _types(plan)
    try:
        total = _read_counters(plan, narrowing, window, types)
        if hidden and not narrowing.dimension:
            total -= _read_counters(plan, Narrowing("campaigns", hidden), window, types)
    except Unsettled:
        return None
    return total - _count_erased(plan, window)


def _narrowing(plan: QueryPlan) -> Narrowing | None:
    """Return the dimension and values to read counters of; ``None`` if none are so narrow."""
    filters = plan.filters
    names = [name for name in filters.values if name != "events"]
    if filters.confined_to is not None:
        return None if names else Narrowing("subaccounts", [str(filters.confined_to)])
    if not names:
        return Narrowing("", [])
    if len(names) > 1 or names[0] not in _COUNTED:
        return None
    values = plan.campaigns if plan.campaigns is not None else filters.values_of(names[0])
    return Narrowing(names[0], list(values))


def _types(plan: QueryPlan) -> list[str]:
    types = plan.filters.values_of("events")
    return [kind for kind in documentation.SEARCHED if not types or kind in types]


def _read_counters(
    plan: QueryPlan, narrowing: Narrowing, window: EventWindow, types: list[str]
) -> int:
    dimension, values = narrowing
    return totals(
        plan.account_id,
        dimension or None,
        values if dimension else None,
        window.start,
        window.end,
        types,
    )


def _count_erased(plan: QueryPlan, window: EventWindow) -> int:
    if not any(day.erased for day in plan.days):
        return 0
    conditions = plan.filters.conditions
    return sum(
        all(holds(item.get(name)) for name, holds in conditions.items())
        for item in erasures.erased_events(plan.account_id, window)
    )
