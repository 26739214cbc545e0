"""How many events a search finds in all.

Events are counted as they are recorded (``metrics``), by the minute, so a long window costs a few
requests. That answers for all events, and for those of some campaigns, subaccounts or sending IPs.
What a window has at its ends beside whole minutes is gone through, and so is the last minute:
events are counted a moment after they can be found. Any other search is gone through from end to
end, by columns, and up to 20,000 events of a bulk send to a request.

What is counted and not found is taken off: events that were erased since, and those of campaigns
that searches do not find.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from chalicelib.core import clock
from chalicelib.events import documentation, store
from chalicelib.events.event_blocks import position_at
from chalicelib.events.query_plan import Source
from chalicelib.events.reading import Window
from chalicelib.metrics.totals import MINUTE_MS, Unsettled, totals

#: Events older than this are counted, unless they were late
SETTLED_MS: Final = 60_000

_COUNTED = ("campaigns", "subaccounts", "sending_ips")


class Narrowed(NamedTuple):
    """The values of the one dimension that counters are read for."""

    dimension: str
    values: list[str]


def count(source: Source, positions: Iterator[str]) -> int:
    """Return how many events a source finds; ``positions`` are all of theirs, newest first."""
    window = source.window
    settled = min(window.end, clock.now_ms() - SETTLED_MS)
    whole = Window(-(-window.start // MINUTE_MS) * MINUTE_MS, settled // MINUTE_MS * MINUTE_MS)
    if whole.start < whole.end and (source.is_by_time or source.campaigns is not None):
        counted = _counted(source, whole)
        if counted is not None:
            newer = sum(1 for _ in takewhile(position_at(whole.end).__le__, positions))
            older = sum(1 for _ in source.find(Window(window.start, whole.start)))
            return newer + counted + older
    return sum(1 for _ in positions)


def _counted(source: Source, window: Window) -> int | None:
    """Return the number of events in whole minutes, ``None`` if counters cannot tell."""
    narrowed = _narrowed(source)
    hidden = sorted({name for day in source.days for name in day.hidden})
    if narrowed is None or (hidden and narrowed.dimension not in ("", "campaigns")):
        return None
    types = _types(source)
    try:
        found = _of(source, narrowed, window, types)
        if hidden and not narrowed.dimension:
            found -= _of(source, Narrowed("campaigns", hidden), window, types)
    except Unsettled:
        return None
    return found - _erased(source, window)


def _narrowed(source: Source) -> Narrowed | None:
    wanted = source.wanted
    names = [name for name in wanted.values if name != "events"]
    if wanted.confined_to is not None:
        return None if names else Narrowed("subaccounts", [str(wanted.confined_to)])
    if not names:
        return Narrowed("", [])
    if len(names) > 1 or names[0] not in _COUNTED:
        return None
    values = source.campaigns if source.campaigns is not None else wanted.named(names[0])
    return Narrowed(names[0], list(values))


def _types(source: Source) -> list[str]:
    asked = source.wanted.named("events")
    return [kind for kind in documentation.SEARCHED if not asked or kind in asked]


def _of(source: Source, narrowed: Narrowed, window: Window, types: list[str]) -> int:
    dimension, values = narrowed
    return totals(
        source.account_id,
        dimension or None,
        values if dimension else None,
        window.start,
        window.end,
        types,
    )


def _erased(source: Source, window: Window) -> int:
    if not any(day.erased for day in source.days):
        return 0
    conditions = source.wanted.conditions
    return sum(
        all(holds(item.get(name)) for name, holds in conditions.items())
        for item in store.erased(source.account_id, window)
    )
