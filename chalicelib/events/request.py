"""Read the page request of an events search: window, page size and cursor (spec 4.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.cursors import FIRST
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import integer
from chalicelib.core.query import Query, time_ms
from chalicelib.core.settings import settings
from chalicelib.events import cursors
from chalicelib.events.positions import EventWindow

DEFAULT_PER_PAGE: Final = 1000
MOST_PER_PAGE: Final = 10_000

_DAY_MS = 86_400_000
_BOUNDS = ("from", "to")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page of a search.

    ``binding`` (JSON) names the search, the account and the filters, to which cursors are bound. On
    the first page ``before`` is empty and ``total`` is not known yet.
    """

    path: str
    query: Query
    binding: Any
    window: EventWindow
    per_page: int
    before: str = ""
    total: int | None = None


def read(path: str, query: Query, binding: Any) -> PageRequest:
    """Read the parameters of all searches; raises 400, and 413 for a URI that is too long.

    Events older than the retention time are not found, even while they are still stored.
    """
    cursors.check_length(path, query)
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    binding = [path, binding, [query.get(name, "") for name in _BOUNDS]]
    oldest = clock.now_ms() - settings().events_retention * 1000
    text = query.get("cursor", FIRST)
    if text != FIRST:
        cursor = cursors.decode(text, binding)
        window = EventWindow(max(cursor.window.start, oldest), cursor.window.end)
        return PageRequest(path, query, binding, window, per_page, cursor.before, cursor.total)
    start, end = _window(query)
    return PageRequest(path, query, binding, EventWindow(max(start, oldest), end), per_page)


def _window(query: Query) -> tuple[int, int]:
    """Return the bounds, by default from a day ago to ``EVENTS_LAG`` ago."""
    now = clock.now_ms()
    start = time_ms(query, "from", now - _DAY_MS)
    # A window that begins within the lag ends where it begins: none of its events is shown yet
    end = time_ms(query, "to", max(start, now - int(settings().events_lag * 1000)))
    if start > end:
        raise invalid_params("from must be before to; without it, from is 24 hours ago")
    return start, end
